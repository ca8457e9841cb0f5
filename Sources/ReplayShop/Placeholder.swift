/// A shop to be read without a network.
enum ReplayShopPlaceholder {}
