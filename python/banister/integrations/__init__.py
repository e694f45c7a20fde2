"""Plug-ins for other libraries, one package each; none is imported by `import banister`."""
