"""What the configuration refuses."""


class ConfigurationError(Exception):
    """A source of settings is refused; the message is one line that names it and the way out."""
