/// A request that cannot be fulfilled, with texts for the person who made it.
struct SiteProblem: Error {
  var status: Int
  var title: String
  var text: String

  static let noPage = SiteProblem(
    status: 404, title: "There is no such page", text: "The address may be misspelled, or what it showed is gone.")
  static let noShop = SiteProblem(
    status: 404, title: "This shop is not followed",
    text: "It may have been removed. The shops that you follow are listed under Shops.")
  static let noProduct = SiteProblem(
    status: 404, title: "There is no such product",
    text: "No sync of this shop has listed it. Search for it under Products.")
  static let noWish = SiteProblem(
    status: 404, title: "There is no such wish", text: "It may have been removed. Yours are listed under Wishes.")

  /// A value in an address or a form that the site does not know.
  static func value(_ name: StaticString, _ value: String, _ allowed: String) -> SiteProblem {
    SiteProblem(
      status: 400, title: "This address is not understood",
      text: "“\(ShopMarkup.plain(value, limit: 40))” is no value of “\(name)”. It takes \(allowed). "
        + "Nothing was changed.")
  }
}
