"""Where the value of a field comes from: template, instance, git line, or another field manager."""
