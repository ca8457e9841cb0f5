// The engine has the vocabulary of every store.
@_exported public import CofferCore
