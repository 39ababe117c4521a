package agent.datapath.manager.attach;

import agent.bindings.BindingsException;
import agent.bindings.BpfFileSystem;
import agent.bindings.BpfLinks;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.LinkDescription;
import agent.bindings.ObjectDescriptions;

/** Attachment by pinned tcx links (Linux 6.6). */
public final class TcxAttachment implements TcAttachment {
  @Override
  public Previous attach(Hook hook, int programFd) {
    final int link = openLive(hook);
    if (link >= 0) {
      try {
        return replace(hook, link, programFd);
      } finally {
        Descriptors.close(link);
      }
    }
    create(hook, programFd);
    return new PreviousProgram(this, hook, -1);
  }

  @Override
  public void detach(Hook hook) {
    final int link = BpfFileSystem.open(hook.pin());
    if (link >= 0) {
      final int result = BpfLinks.detach(link);
      Descriptors.close(link);
      Pins.unpin(hook.pin());
      if (result < 0) {
        throw new AttachException(hook, "detach link", result);
      }
    } else if (link != -Errno.ENOENT) {
      throw new AttachException(hook, "open link " + hook.pin(), link);
    }
  }

  @Override
  public boolean isAttached(Hook hook) {
    final int link = openLive(hook);
    Descriptors.close(link);
    return link >= 0;
  }

  private void create(Hook hook, int programFd) {
    final int link = BpfLinks.createTcx(programFd, hook.ifindex(), hook.isIngress());
    if (link < 0) {
      throw new AttachException(hook, "create tcx link", link);
    }
    final int pinned = Pins.pin(link, hook.pin());
    if (pinned < 0) {
      BpfLinks.detach(link);
      Descriptors.close(link);
      throw new AttachException(hook, "pin link " + hook.pin(), pinned);
    }
    Descriptors.close(link);
  }

  private Previous replace(Hook hook, int link, int programFd) {
    final int before = ObjectDescriptions.openProgram(ObjectDescriptions.link(link).programId());
    final int result = BpfLinks.update(link, programFd);
    if (result < 0) {
      Descriptors.close(before);
      throw new AttachException(hook, "update link", result);
    }
    return new PreviousProgram(this, hook, before);
  }

  /**
   * The pinned link, where it still hangs on this hook. One whose interface is gone, or that is of
   * an interface which had this name before, is unpinned.
   */
  private static int openLive(Hook hook) {
    final int link = BpfFileSystem.open(hook.pin());
    if (link < 0) {
      return link;
    }
    try {
      final LinkDescription found = ObjectDescriptions.link(link);
      if (found.type() == LinkDescription.TYPE_TCX
          && found.ifindex() == hook.ifindex()
          && found.isTcxIngress() == hook.isIngress()) {
        return link;
      }
    } catch (BindingsException notALink) {
      Descriptors.close(link);
      throw new AttachException(hook.pin() + " is not a link");
    }
    BpfLinks.detach(link);
    Descriptors.close(link);
    Pins.unpin(hook.pin());
    return -Errno.ENOENT;
  }
}
