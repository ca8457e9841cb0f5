// Everything that needs no server, with one import.
@_exported public import CofferCallbacks
@_exported public import CofferPersistence
@_exported public import CofferRouter
@_exported public import CofferVault
