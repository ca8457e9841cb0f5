// A check of a store speaks the vocabulary of every store.
@_exported public import CofferCore
