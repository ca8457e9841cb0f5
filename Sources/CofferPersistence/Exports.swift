// Clients save to any store of `Coffer`.
@_exported public import Coffer
@_exported public import CofferCore
@_exported public import CofferFiles
@_exported public import CofferSQLite
