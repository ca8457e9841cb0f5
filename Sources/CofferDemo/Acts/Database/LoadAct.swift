import Coffer

/// Prints the products that the demonstration works with.
func loadAct(_ stage: Stage) {
  let catalogue = stage.catalogue
  stage.summary.products = catalogue.items.count
  stage.summary.variants = catalogue.variants
  stage.console.line("   \(catalogue.source)")
  for note in catalogue.notes { stage.console.line("   \(note)") }
  let example = catalogue.items.max { $0.product.variants.count < $1.product.variants.count }
  if let product = example?.product, let low = product.variants.map(\.price).min(),
    let high = product.variants.map(\.price).max()
  {
    stage.console.line("   For example \"\(product.title.prefix(50))\": \(product.variants.count) variants")
    stage.console.line("   from \(low.text) to \(high.text), each with a price, a stock state and a number.")
  }
  stage.check(
    !catalogue.items.isEmpty, "products, with \(grouped(catalogue.variants)) variants", count: catalogue.items.count)
}
