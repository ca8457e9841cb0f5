@_exported public import CofferCore
@_exported public import CofferSQLite
