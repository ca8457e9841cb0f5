// `@VaultStored` is a property of the router.
@_exported public import CofferRouter
