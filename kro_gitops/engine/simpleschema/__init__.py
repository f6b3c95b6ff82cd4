"""
SimpleSchema: kro's short notation for the fields of a kind, and the OpenAPI it stands for.

`openapi.build_schema` is the door. The rest, in reading order: `grammar` (types), `markers`
(their lexer and table), `effects` (what a marker does), `drafts` (a schema being made),
`fields` and `types` (definitions become drafts), `refusals` and `defaults` (what an API
server would say); `go_literals` and `json_text` read values as kro and servers do. Nothing
here knows of files, resources, CEL or a cluster.
"""
