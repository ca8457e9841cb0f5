// A key may live in any local store, and be encrypted: one import has what a declaration names.
@_exported public import Coffer
@_exported public import CofferCore
@_exported public import CofferEncryption
@_exported public import CofferFileSystem
@_exported public import CofferFiles
@_exported public import CofferSQLite
@_exported public import CofferSecrets
