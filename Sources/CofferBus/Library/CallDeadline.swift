import CofferCGio
import Foundation

/// Ends a blocking call of GIO that has no timeout of its own.
// GCancellable and DispatchWorkItem may be cancelled from any thread, and no reference ever changes.
package final class CallDeadline: @unchecked Sendable {
  /// What the call takes.
  package let cancellable: OpaquePointer
  private let gio: UnsafePointer<coffer_gio>
  private let work: DispatchWorkItem
  // Its own queue: the shared ones may be full of threads that wait for what is to be ended here.
  private static let queue = DispatchQueue(label: "coffer.bus.deadline")

  /// - Throws: ``BusFailure`` of kind `noLibrary`.
  package init(_ duration: Duration) throws(BusFailure) {
    gio = try Gio.functions()
    cancellable = gio.pointee.g_cancellable_new()
    let held = HeldObject(cancellable, gio)
    work = DispatchWorkItem { held.cancel() }
    Self.queue.asyncAfter(deadline: .now() + .milliseconds(Int(duration.wholeMilliseconds)), execute: work)
  }

  deinit {
    work.cancel()
    gio.pointee.g_object_unref(UnsafeMutableRawPointer(cancellable))
  }

  package func cancel() { work.cancel() }
}

/// A cancellable that stays as long as this does.
// Counting references is atomic in GObject, any thread may cancel, and the pointers never change.
private final class HeldObject: @unchecked Sendable {
  private let pointer: OpaquePointer
  private let gio: UnsafePointer<coffer_gio>

  init(_ pointer: OpaquePointer, _ gio: UnsafePointer<coffer_gio>) {
    self.pointer = pointer
    self.gio = gio
    _ = gio.pointee.g_object_ref(UnsafeMutableRawPointer(pointer))
  }

  deinit { gio.pointee.g_object_unref(UnsafeMutableRawPointer(pointer)) }

  func cancel() { gio.pointee.g_cancellable_cancel(pointer) }
}

extension Duration {
  /// For GLib; at least one, since none and negative numbers mean other things there.
  package var wholeMilliseconds: CInt {
    let (seconds, attoseconds) = components
    return CInt(clamping: max(1, min(seconds, 1_000_000) * 1_000 + attoseconds / 1_000_000_000_000_000))
  }
}
