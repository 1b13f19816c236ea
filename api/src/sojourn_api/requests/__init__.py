"""What a request asks for: its query string, parsed once into a frozen object that the queries take."""
