extension Sequence {
  /// The elements for which an asynchronous question is answered with yes, in their order.
  ///
  /// ```swift
  /// let existing = await keys.asyncFilter { key in await service.exists(forKey: key) }
  /// ```
  ///
  /// The question is asked about one element after the other.
  public func asyncFilter(_ isIncluded: (Element) async throws -> Bool) async rethrows -> [Element] {
    var included: [Element] = []
    for element in self where try await isIncluded(element) { included.append(element) }
    return included
  }
}
