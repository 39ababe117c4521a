package agent.datapath.programs.attach;

import agent.bindings.BindingsException;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.BpfProgram.ProgramDescription;
import agent.bindings.bpf.TcFilter;
import java.util.Optional;

/**
 * Attachment to a tc hook by a filter with a fixed handle and priority under the clsact qdisc, for
 * kernels without tcx. A filter with this handle belongs to the agent where the name of its program
 * is the agent's. Detaching removes the filter and keeps the qdisc, which other programs may use.
 */
final class ClsactAttachment implements Attachment {
  /** "ag" in ASCII; operators usually choose small numbers. */
  private static final int HANDLE = 0x6167;

  private static final int PRIORITY = 0x6167;

  /** The kernel truncates the name of a program to this length (BPF_OBJ_NAME_LEN - 1). */
  private static final int LONGEST_NAME = 15;

  private final TcHook hook;
  private final TcFilter filter;

  ClsactAttachment(TcHook hook) {
    this.hook = hook;
    filter = new TcFilter(hook.ifindex(), hook.isIngress(), HANDLE, PRIORITY);
  }

  @Override
  public PreviousProgram attach(BpfProgram program) {
    BpfProgram before = null;
    try {
      final Optional<ProgramDescription> found = filter.info();
      if (found.isPresent()) {
        if (!isOurs(found.get())) {
          throw new AttachException(
              this + ": filter " + HANDLE + " of another program " + found.get().name(), null);
        }
        before = BpfProgram.openById(found.get().id());
      }
      filter.update(program);
      return new PreviousProgram(this, before);
    } catch (BindingsException failure) {
      if (before != null) {
        before.close();
      }
      throw new AttachException(this, failure);
    }
  }

  /**
   * Does nothing where the ifindex is 0: the kernel removes filters together with their interface.
   */
  @Override
  public void detach() {
    try {
      if (isAttached()) {
        filter.detach();
      }
    } catch (BindingsException failure) {
      throw new AttachException(this, failure);
    }
  }

  @Override
  public boolean isAttached() {
    return !attachedProgram().isEmpty();
  }

  @Override
  public String attachedProgram() {
    if (hook.ifindex() == 0) {
      return "";
    }
    try {
      return filter.info().filter(this::isOurs).map(ProgramDescription::name).orElse("");
    } catch (BindingsException failure) {
      throw new AttachException(this, failure);
    }
  }

  @Override
  public WatchedHook watch() {
    try {
      final ProgramDescription found =
          filter
              .info()
              .filter(this::isOurs)
              .orElseThrow(() -> new AttachException(this + ": no program is attached", null));
      return new WatchedFilter(hook, filter, BpfProgram.openById(found.id()));
    } catch (BindingsException failure) {
      throw new AttachException(this, failure);
    }
  }

  private boolean isOurs(ProgramDescription found) {
    return found.name().equals(shortened(hook.program()))
        || found.name().equals(shortened(hook.closedProgram()));
  }

  private static String shortened(String name) {
    return name.substring(0, Math.min(name.length(), LONGEST_NAME));
  }

  @Override
  public String toString() {
    return hook.toString();
  }
}
