import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify export`: prints the price history of all variants of a store.
func exportHistory(_ invocation: Invocation) async throws -> ExitStatus {
  let asJSON = invocation.has(.json)
  guard !(asJSON && invocation.has(.csv)) else {
    throw Command.mistake("'export' takes --csv or --json, not both.", .export)
  }
  return try await interruptible {
    try await withSession(invocation) { session in
      guard let store = try session.stores(invocation).first else { throw Command.mistake("Name a STORE.", .export) }
      let output = Output.standard
      if !asJSON { try output.writeLine(ExportRow.heading) }
      for id in try await session.service.productIds(storeId: store.id) {
        try Task.checkCancellation()
        guard let detail = try await session.service.product(storeId: store.id, shopifyId: id) else { continue }
        for variant in detail.variants {
          for snapshot in variant.history {
            let row = ExportRow(store: store, detail: detail, variant: variant, snapshot: snapshot)
            try output.writeLine(asJSON ? row.json.line : row.csv)
          }
        }
      }
      try output.flush()
      return .ok
    }
  }
}

/// A row of an export: the values of a variant from a point in time.
struct ExportRow {
  static let heading =
    "at,store,store_name,product_id,handle,product,variant_id,variant,sku,price,compare_at_price,currency,is_available"

  let store: StoreDTO
  let detail: ProductDetailDTO
  let variant: VariantDTO
  let snapshot: SnapshotDTO

  private var currency: String? { snapshot.currency ?? store.currency }

  var csv: String {
    [
      Moment.iso(snapshot.capturedAt), store.domain, store.name, String(detail.product.shopifyId),
      detail.product.handle,
      detail.product.title, String(variant.id), variant.title ?? "", variant.sku ?? "", exact(snapshot.price),
      snapshot.compareAtPrice.map(exact) ?? "", currency ?? "", snapshot.available ? "true" : "false",
    ].map(Self.cell).joined(separator: ",")
  }

  /// Returns a cell as CSV (RFC 4180). A text that a spreadsheet would evaluate as a formula is prefixed with an
  /// apostrophe, because titles are untrusted.
  static func cell(_ text: String) -> String {
    let isFormula = text.unicodeScalars.first.map { "=+-@\t\r".unicodeScalars.contains($0) } ?? false
    let text = isFormula && Double(text) == nil ? "'" + text : text
    guard text.unicodeScalars.contains(where: { "\",\n\r".unicodeScalars.contains($0) }) else { return text }
    return "\"\(text.replacing("\"", with: "\"\""))\""
  }

  var json: JSON {
    .object([
      ("at", .date(snapshot.capturedAt)), ("store", .text(store.domain)), ("storeName", .text(store.name)),
      ("productId", .number(detail.product.shopifyId)),
      ("handle", .text(detail.product.handle)), ("product", .text(detail.product.title)),
      ("variantId", .number(variant.id)), ("variant", .optional(variant.title)), ("sku", .optional(variant.sku)),
      ("price", .amount(snapshot.price)), ("compareAtPrice", .amount(snapshot.compareAtPrice)),
      ("currency", .optional(currency)), ("isAvailable", .flag(snapshot.available)),
    ])
  }
}
