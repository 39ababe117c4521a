package agent.datapath.manager.attach;

import agent.bindings.BpfFileSystem;
import agent.bindings.BpfLinks;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.LinkDescription;
import agent.bindings.ObjectDescriptions;
import agent.bindings.XdpMode;
import java.nio.file.Path;

/** Attachment of an XDP program by a pinned link. */
public final class XdpAttachment {
  private XdpAttachment() {}

  /**
   * Hangs the program on the interface, or replaces ours that is there; no packet meets neither.
   *
   * @throws AttachException where the driver has no such mode, or another program is there
   */
  public static void attach(
      String interfaceName, int ifindex, XdpMode mode, Path pin, int programFd) {
    final String subject =
        "%s (ifindex %d, XDP %s)".formatted(interfaceName, ifindex, mode.name().toLowerCase());
    final int pinned = BpfFileSystem.open(pin);
    if (pinned >= 0) {
      final LinkDescription found = ObjectDescriptions.link(pinned);
      if (found.type() == LinkDescription.TYPE_XDP && found.ifindex() == ifindex) {
        final int result = BpfLinks.update(pinned, programFd);
        Descriptors.close(pinned);
        if (result < 0) {
          throw new AttachException(subject + ": update link: " + Errno.name(result));
        }
        return;
      }
      BpfLinks.detach(pinned);
      Descriptors.close(pinned);
      Pins.unpin(pin);
    }
    create(subject, ifindex, mode, pin, programFd);
  }

  private static void create(String subject, int ifindex, XdpMode mode, Path pin, int programFd) {
    final int link = BpfLinks.createXdp(programFd, ifindex, mode);
    if (link == -Errno.EOPNOTSUPP) {
      throw new AttachException(
          subject + ": the driver has no native XDP; --prefilter-mode generic works without it");
    }
    if (link == -Errno.EBUSY) {
      throw new AttachException(subject + ": another XDP program is attached");
    }
    if (link < 0) {
      throw new AttachException(subject + ": create link: " + Errno.name(link));
    }
    final int result = Pins.pin(link, pin);
    if (result < 0) {
      BpfLinks.detach(link);
    }
    Descriptors.close(link);
    if (result < 0) {
      throw new AttachException(subject + ": pin link " + pin + ": " + Errno.name(result));
    }
  }

  /** Detaches and unpins any link, where it is there: what an option no longer asks for. */
  public static void detachLink(Path pin) {
    final int link = BpfFileSystem.open(pin);
    if (link >= 0) {
      BpfLinks.detach(link);
      Descriptors.close(link);
    }
    Pins.unpin(pin);
  }
}
