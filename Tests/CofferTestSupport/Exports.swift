// The test support that is also public, for tests of applications.
@_exported public import CofferTesting
