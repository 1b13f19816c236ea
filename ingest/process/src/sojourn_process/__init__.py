"""What every process of Sojourn needs, whatever it does: folders that go with it, printable text, a quick start."""
