"""HTTP/1.1: parsing requests, writing responses and watch streams."""
