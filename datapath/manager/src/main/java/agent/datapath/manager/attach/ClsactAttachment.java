package agent.datapath.manager.attach;

import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.ObjectDescriptions;
import agent.bindings.TcFilter;

/**
 * Attachment by a filter of our own number under a clsact qdisc, for kernels without tcx. The qdisc
 * stays when the filter goes: others may use it.
 */
public final class ClsactAttachment implements TcAttachment {
  /** "ag": away from the small numbers that people give by hand. */
  private static final int HANDLE = 0x6167;

  private static final int PRIORITY = 0x6167;
  private static final int LONGEST_NAME = 15;

  @Override
  public Previous attach(Hook hook, int programFd) {
    final TcFilter filter = filter(hook);
    final int before = openOurs(hook, filter);
    if (before == -Errno.EEXIST) {
      throw new AttachException(hook, "filter " + HANDLE + " of another program", before);
    }
    final int result = filter.attachOrReplace(programFd);
    if (result < 0) {
      Descriptors.close(before);
      throw new AttachException(hook, "attach clsact filter", result);
    }
    return new PreviousProgram(this, hook, before);
  }

  @Override
  public void detach(Hook hook) {
    final TcFilter filter = filter(hook);
    final int ours = openOurs(hook, filter);
    if (ours >= 0) {
      Descriptors.close(ours);
      final int result = filter.detach();
      if (result < 0 && !isGone(result)) {
        throw new AttachException(hook, "detach clsact filter", result);
      }
    }
  }

  @Override
  public boolean isAttached(Hook hook) {
    final int ours = openOurs(hook, filter(hook));
    Descriptors.close(ours);
    return ours >= 0;
  }

  private static TcFilter filter(Hook hook) {
    return new TcFilter(hook.ifindex(), hook.isIngress(), HANDLE, PRIORITY);
  }

  /**
   * A descriptor of the program that our filter has; -errno where there is no such filter, -EEXIST
   * where the filter of this number is somebody else's.
   */
  private static int openOurs(Hook hook, TcFilter filter) {
    final int id = filter.programId();
    if (id < 0) {
      if (!isGone(id)) {
        throw new AttachException(hook, "query clsact filter", id);
      }
      return id;
    }
    final int program = ObjectDescriptions.openProgram(id);
    if (program < 0) {
      return program;
    }
    final String name = ObjectDescriptions.program(program).name();
    if (name.equals(truncated(hook.program()))) {
      return program;
    }
    Descriptors.close(program);
    return -Errno.EEXIST;
  }

  /** No filter, no qdisc, or no interface. */
  private static boolean isGone(int result) {
    return result == -Errno.ENOENT || result == -Errno.EINVAL || result == -Errno.ENODEV;
  }

  private static String truncated(String name) {
    return name.substring(0, Math.min(name.length(), LONGEST_NAME));
  }
}
