import pytest

from kube_objects.formats import matches_format

# Every line was put to the validation code of the API server, Kubernetes 1.35.
FITS: dict[str, list[str]] = {
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "byte": ["aGk=", "aGVsbG8="],
    "cidr": ["10.0.0.0/8", "::/0", "010.0.0.1/024", "fe80::1/64"],
    "creditcard": ["4220 8554 2622 2389", "374953669708156"],
    "date": ["2024-02-29", "0000-01-01"],
    "date-time": ["2024-01-01T00:00:00Z", "2024-01-01t23:59:59.123+01:00"],
    "datetime": ["2024-01-01T00:00:00Z"],
    "duration": ["1h30m", "0", "22 ns", "3 days", "-1.5h", ".5s", "1w", "5µs"],
    "email": ["a@b.c", "Bob <a@b.c>", "a.b@c", '"x y"@z', "a@[1.2.3.4]"],
    "hexcolor": ["#fff", "ABCDEF"],
    "hostname": ["example.org", "a-b.cc", "a", "ä.de"],
    "ipv4": ["1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"],
    "ipv6": ["::1", "::ffff:1.2.3.4", "2001:db8::"],
    "isbn": ["3836221195", "978-3-8362-2119-1"],
    "isbn10": ["3 401 01319 X"],
    "isbn13": ["978 3401013190"],
    "k8s-long-name": ["a.b-c"],
    "k8s-short-name": ["abc"],
    "mac": ["01:23:45:67:89:ab", "0123.4567.89ab", "01-23-45-67-89-ab-cd-ef"],
    "rgbcolor": ["rgb(0, 31,255)"],
    "ssn": ["123-45-6789", "123 45 6789"],
    "uri": ["http://a/b?c#d", "/x", "mailto:a", "http://[::1]:80/", "*", "//x/y", "http://u@h/"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
    "uuid3": ["123e4567-e89b-32d3-a456-426614174000"],
    "uuid4": ["123e4567-e89b-42d3-a456-426614174000"],
    "uuid5": ["123e4567-e89b-52d3-a456-426614174000"],
    "password": ["anything"],
    "int32": ["formats of numbers are not checked in strings"],
    "made-up": ["unknown formats are not checked"],
}

DOES_NOT_FIT: dict[str, list[str]] = {
    "bsonobjectid": ["507f1f77bcf86cd79943901"],
    "byte": ["", "aGVsbG8"],
    "cidr": ["10.0.0.0/33", "10.0.0.0", "::/129", "x/8"],
    "creditcard": ["4220855426213389", "credit card"],
    "date": ["2023-02-29", "2024-13-01", "2024-1-1", "20240101"],
    "date-time": [
        "2024-01-01T24:00:00Z",
        "2024-01-01",
        "2024-01-01T00:00:00",
        "2024-13-01T00:00:00Z",
    ],
    "duration": ["1 fortnight", "h", ""],
    "email": ["a@", "@b", "a b@c.d", "a@[x]", "a"],
    "hexcolor": ["#ff"],
    "hostname": ["-a.b", "a..b", "x.y1", "foo_bar.com", "a" * 64, "a." * 127 + "com"],
    "ipv4": ["1.2.3", "256.1.1.1", "::1"],
    "ipv6": ["fe80::1%eth0", "1::2::3", "1.2.3.4"],
    "isbn10": ["3836221196", "x"],
    "isbn13": ["978-3-8362-2119-2", "x"],
    "k8s-long-name": ["A.b", "a..b", "a" * 254],
    "k8s-short-name": ["-a", "a-", "a" * 64],
    "mac": ["01:23-45:67:89:ab"],
    "rgbcolor": ["rgb(256,0,0)"],
    "ssn": ["123-456789"],
    "uri": [
        "",
        "x",
        "http://a b/",
        "http://a:b/",
        "http://u:p@h/%zz",
        "http://u^@h/",
        "1a:b",
        "http://[x]/",
        "\x01",
    ],
    "uuid": ["123e4567"],
    "uuid4": ["123e4567-e89b-12d3-a456-426614174000"],
}


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, text) for name, texts in table.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), cases(FITS))
def test_it_has_the_format(name: str, text: str) -> None:
    assert matches_format(text, name)


@pytest.mark.parametrize(("name", "text"), cases(DOES_NOT_FIT))
def test_it_does_not_have_the_format(name: str, text: str) -> None:
    assert not matches_format(text, name)
