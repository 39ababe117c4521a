package agent.datapath.programs.attach;

import agent.bindings.BindingsException;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.SocketHook;
import agent.datapath.programs.compile.ProgramFile;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Attaches the programs at sockets to the hooks of one control group. For the conductor's thread.
 */
public final class SocketAttachments {
  private static final Logger LOGGER = LogManager.getLogger(SocketAttachments.class);

  private final Pins pins;
  private final HookGuard guard;
  private final Function<ProgramFile, CompletableFuture<BpfObject>> loader;

  /**
   * Creates the attachments without attaching a program.
   *
   * @param loader loads an object
   */
  public SocketAttachments(
      Pins pins, HookGuard guard, Function<ProgramFile, CompletableFuture<BpfObject>> loader) {
    this.pins = pins;
    this.guard = guard;
    this.loader = loader;
  }

  /** Loads the programs; the caller closes them. */
  public CompletableFuture<BpfObject> load() {
    return load(ProgramFile.SOCKET);
  }

  /** Loads programs for sockets that have been given a peer; the caller closes them. */
  public CompletableFuture<BpfObject> load(ProgramFile file) {
    return loader.apply(file);
  }

  /**
   * Attaches all programs, or replaces those of a previous run. The hooks that show a socket its
   * peer come before those that change it, so that a part of them does no harm.
   *
   * @throws AttachException where the kernel refuses; then those of a previous run stay
   */
  public void attach(Path cgroup, BpfObject object) {
    final SocketHook[] hooks = SocketHook.values();
    for (int i = hooks.length - 1; i >= 0; i--) {
      final Attachment attachment = new CgroupAttachment(cgroup, hooks[i], pin(hooks[i]));
      attachment.attach(object.program(program(hooks[i]))).close();
      guard.watch(0, subject(hooks[i]), attachment, this::load, program(hooks[i]));
    }
    LOGGER.info("services: socket programs attached to control group {}", cgroup);
  }

  /** Detaches the programs of this run and of previous ones. */
  public void detach() {
    boolean isDetached = false;
    for (final SocketHook hook : SocketHook.values()) {
      guard.forget(subject(hook));
    }
    for (final Path pin : pins.socketPins()) {
      try {
        PinnedLinkAttachment.detachPinned(pin);
        isDetached = true;
      } catch (BindingsException failure) {
        LOGGER.warn("socket link {}: detaching the program failed: {}", pin, failure.getMessage());
      }
    }
    if (isDetached) {
      LOGGER.info("services: socket programs detached");
    }
  }

  private Path pin(SocketHook hook) {
    return pins.socket(program(hook));
  }

  private static String subject(SocketHook hook) {
    return "sockets " + program(hook);
  }

  private static String program(SocketHook hook) {
    return "socket_" + hook.name().toLowerCase(Locale.ROOT);
  }
}
