"""The API of sources: types of spec and status, parsing, validation, CRDs."""
