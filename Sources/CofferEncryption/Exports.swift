// An encrypted engine is an engine.
@_exported public import CofferCore
