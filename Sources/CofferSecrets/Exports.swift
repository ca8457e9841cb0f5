// A keyring is a `SlotEngine`; its keys are those of every store.
@_exported public import CofferCore
@_exported public import CofferEncryption
@_exported public import CofferFiles
