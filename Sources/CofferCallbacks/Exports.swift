// The storage stands on any engine of `Coffer`.
@_exported public import Coffer
@_exported public import CofferCore
