package agent.datapath.programs.attach;

import agent.bindings.BindingsException;
import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfLink.LinkDescription;
import agent.bindings.bpf.BpfProgram;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Attachment by a pinned link. Updates the program of the link where the pinned link is attached to
 * the hook; otherwise creates and pins a new link. A subclass creates links of its type and
 * recognizes them.
 */
abstract class PinnedLinkAttachment implements Attachment {
  private final Path pin;

  PinnedLinkAttachment(Path pin) {
    this.pin = pin;
  }

  /**
   * Creates a link of this type on the hook without pinning it.
   *
   * @throws BindingsException where the kernel refuses
   */
  abstract BpfLink create(BpfProgram program);

  /** Returns whether the link has this type and is attached to this hook. */
  abstract boolean isOnHook(LinkDescription link);

  @Override
  public final PreviousProgram attach(BpfProgram program) {
    try {
      final Optional<BpfLink> attached = openAttached();
      if (attached.isPresent()) {
        try (BpfLink link = attached.get()) {
          return replace(link, program);
        }
      }
      try (BpfLink link = create(program)) {
        Pins.createFolder(pin);
        link.pin(pin); // where pinning fails, closing the link detaches the program
      }
      return new PreviousProgram(this, null);
    } catch (BindingsException failure) {
      throw new AttachException(this, failure);
    }
  }

  @Override
  public final void detach() {
    try {
      detachPinned(pin);
    } catch (BindingsException failure) {
      throw new AttachException(this, failure);
    }
  }

  @Override
  public final boolean isAttached() {
    try {
      final Optional<BpfLink> attached = openAttached();
      attached.ifPresent(BpfLink::close);
      return attached.isPresent();
    } catch (BindingsException failure) {
      throw new AttachException(this, failure);
    }
  }

  @Override
  public final String attachedProgram() {
    try {
      final Optional<BpfLink> attached = openAttached();
      if (attached.isEmpty()) {
        return "";
      }
      try (BpfLink link = attached.get();
          BpfProgram program = BpfProgram.openById(link.info().programId())) {
        return program.info().name();
      }
    } catch (BindingsException failure) {
      throw new AttachException(this, failure);
    }
  }

  @Override
  public final WatchedHook watch() {
    try {
      final BpfLink link =
          openAttached()
              .orElseThrow(() -> new AttachException(this + ": no program is attached", null));
      try {
        return new WatchedLink(this, pin, link, link.info());
      } catch (BindingsException failure) {
        link.close();
        throw failure;
      }
    } catch (BindingsException failure) {
      throw new AttachException(this, failure);
    }
  }

  /**
   * Detaches and unpins the link at a path, whatever its type; does nothing where none is pinned.
   *
   * @throws BindingsException where another kind of object is pinned there, or the kernel refuses
   */
  static void detachPinned(Path pin) {
    final Optional<BpfLink> pinned = BpfLink.openPinned(pin);
    if (pinned.isPresent()) {
      try (BpfLink link = pinned.get()) {
        detach(link, pin);
      }
    } else {
      Pins.deleteFolderIfEmpty(pin); // which an interrupted call has left
    }
  }

  /** Returns the index of the interface that the pinned link is attached to; 0 for no link. */
  static int linkedInterface(Path pin) {
    final Optional<BpfLink> pinned = BpfLink.openPinned(pin);
    if (pinned.isEmpty()) {
      return 0;
    }
    try (BpfLink link = pinned.get()) {
      return link.info().ifindex();
    }
  }

  private static void detach(BpfLink link, Path pin) {
    try {
      link.detach();
    } finally {
      link.unpin();
      Pins.deleteFolderIfEmpty(pin);
    }
  }

  private PreviousProgram replace(BpfLink link, BpfProgram program) {
    final BpfProgram before = BpfProgram.openById(link.info().programId());
    try {
      link.update(program);
      return new PreviousProgram(this, before);
    } catch (BindingsException failure) {
      before.close();
      throw failure;
    }
  }

  /**
   * Opens the pinned link where it is attached to this hook. A link whose interface was deleted, or
   * which is attached to another interface, is detached and unpinned.
   */
  private Optional<BpfLink> openAttached() {
    final Optional<BpfLink> pinned = BpfLink.openPinned(pin);
    if (pinned.isEmpty()) {
      return pinned;
    }
    final BpfLink link = pinned.get();
    boolean isAttached = false;
    try {
      isAttached = isOnHook(link.info());
      if (isAttached) {
        return pinned;
      }
      detach(link, pin);
      return Optional.empty();
    } finally {
      if (!isAttached) {
        link.close();
      }
    }
  }
}
