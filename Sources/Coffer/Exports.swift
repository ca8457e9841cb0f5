// `import Coffer` re-exports every module that needs no server.
@_exported public import CofferCore
@_exported public import CofferCrypto
@_exported public import CofferEncryption
@_exported public import CofferFileSystem
@_exported public import CofferFiles
@_exported public import CofferKeychain
@_exported public import CofferPreferences
@_exported public import CofferPresence
@_exported public import CofferPrompt
@_exported public import CofferSQLite
@_exported public import CofferSlots
