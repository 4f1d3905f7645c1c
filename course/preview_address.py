"""The address at which `preview` serves the site, if its port is free."""

HOST, PORT = "127.0.0.1", 4200
URL = f"http://{HOST}:{PORT}/"
