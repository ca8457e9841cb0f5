/// What opening a store does where data of another origin is found instead of a store.
public enum ForeignDataPolicy: String, Sendable, Hashable, CaseIterable {
  /// Opening throws `foreignFormat`, which says what was recognized, and changes nothing. The default.
  case refuse
  /// The data is used as it is: each file or preference is a value, whose bytes nobody converts.
  case ignore
  /// A directory of files is opened to be taken over in place, by a take-over from the same directory: until that has
  /// completed, every other opening refuses it, also after this process was killed. Elsewhere as ``refuse``.
  case takeOver
}
