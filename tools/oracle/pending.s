// Empty on purpose: it lets pending.go declare a function without a body.
