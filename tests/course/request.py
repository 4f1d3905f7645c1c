"""A request as it is written, to the preview's server."""

import http.client


def get(server, path, method="GET", **headers):
    """Return status, type and body of exactly this path, which clients would normalise."""
    connection = http.client.HTTPConnection(*server.server_address, timeout=5)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    return response.status, response.headers["Content-Type"], response.read().decode()
