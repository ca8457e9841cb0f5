// What tests of any application need, too.
@_exported public import CofferProcessTesting
