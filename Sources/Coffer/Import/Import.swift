public import CofferCore

/// An import: values of another library are stored in batches, while any process uses the store.
///
/// ```swift
/// let run = engine.import(from: .files(directory: path, encoding: .json))
/// for await state in run.updates { show(state.values, of: state.totalValues) }
/// let report = try await run.result()
/// ```
///
/// Interrupted at any point, the next one continues it: what the store has is recognized by its bytes.
public enum Import {
  /// A running import, counted in values. Values that were stored stay so if it is cancelled or fails, and no original
  /// is lost.
  public typealias Run = ObservedTask<State, Report>
}
