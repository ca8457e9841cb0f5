extension Sequence {
  /// Returns the elements that satisfy an asynchronous predicate, in their order.
  ///
  /// ```swift
  /// let existing = await keys.asyncFilter { key in await service.exists(forKey: key) }
  /// ```
  ///
  /// The predicate is called for one element at a time.
  public func asyncFilter(_ isIncluded: (Element) async throws -> Bool) async rethrows -> [Element] {
    var included: [Element] = []
    for element in self where try await isIncluded(element) { included.append(element) }
    return included
  }
}
