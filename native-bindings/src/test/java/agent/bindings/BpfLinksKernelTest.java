package agent.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.VethPair;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

@KernelTest
class BpfLinksKernelTest {
  private static final String PROGRAMS =
      """
      SEC("tc") int first(struct __sk_buff *skb) { return -1; }
      SEC("tc") int second(struct __sk_buff *skb) { return 0; }
      SEC("xdp") int pass(struct xdp_md *context) { return XDP_PASS; }
      """;

  @Test
  @KernelTest(since = "6.6")
  void shouldKeepAPinnedTcxLinkAndReplaceItsProgram() throws Exception {
    try (NetworkNamespace host = NetworkNamespace.create("links");
        NetworkNamespace workload = NetworkNamespace.create("links");
        TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount()) {
      final int ifindex = VethPair.create(host, "h0", workload, "w0").hostIfindex();
      host.run(
          () -> {
            checkTcx(ifindex, bpffs.path().resolve("link"));
            return null;
          });
    }
  }

  private static void checkTcx(int ifindex, Path pin) {
    try (BpfObject object = open()) {
      final int link = BpfLinks.createTcx(object.programFd("first"), ifindex, true);
      assertTrue(link >= 0, () -> Errno.name(link));
      assertEquals(0, BpfFileSystem.pin(link, pin));
      final LinkDescription description = ObjectDescriptions.link(link);
      assertEquals(LinkDescription.TYPE_TCX, description.type());
      assertEquals(ifindex, description.ifindex());
      assertTrue(description.isTcxIngress());
      assertEquals(programId(object, "first"), description.programId());
      assertEquals(0, Descriptors.close(link));
    }
    try (BpfObject object = open()) {
      final int link = BpfFileSystem.open(pin);
      assertTrue(link >= 0, () -> Errno.name(link));
      assertEquals(0, BpfLinks.update(link, object.programFd("second")));
      assertEquals(programId(object, "second"), ObjectDescriptions.link(link).programId());
      assertEquals(0, BpfLinks.detach(link));
      assertEquals(0, ObjectDescriptions.link(link).ifindex());
      assertEquals(0, BpfFileSystem.unpin(pin));
      assertFalse(Files.exists(pin));
      Descriptors.close(link);
    }
  }

  @Test
  void shouldFindAnInterfaceWithoutAnAddress() throws Exception {
    try (NetworkNamespace host = NetworkNamespace.create("links");
        NetworkNamespace workload = NetworkNamespace.create("links")) {
      final VethPair veth = VethPair.create(host, "h0", workload, "w0");
      assertEquals(veth.hostIfindex(), host.run(() -> NetworkDevice.index("h0")));
      assertEquals(-Errno.ENODEV, host.run(() -> NetworkDevice.index("w0")));
    }
  }

  @Test
  void shouldAttachXdpInEitherModeAndRefuseASecondProgram() throws Exception {
    try (NetworkNamespace host = NetworkNamespace.create("links");
        NetworkNamespace workload = NetworkNamespace.create("links")) {
      final int ifindex = VethPair.create(host, "h0", workload, "w0").hostIfindex();
      host.run(
          () -> {
            try (BpfObject object = open()) {
              for (final XdpMode mode : XdpMode.values()) {
                final int link = BpfLinks.createXdp(object.programFd("pass"), ifindex, mode);
                assertTrue(link >= 0, () -> mode + " " + Errno.name(link));
                assertEquals(ifindex, ObjectDescriptions.link(link).ifindex());
                assertEquals(
                    -Errno.EBUSY, BpfLinks.createXdp(object.programFd("pass"), ifindex, mode));
                Descriptors.close(link);
              }
            }
            return null;
          });
    }
  }

  @Test
  void shouldAttachReplaceAndDetachAClsactFilter() throws Exception {
    try (NetworkNamespace host = NetworkNamespace.create("links");
        NetworkNamespace workload = NetworkNamespace.create("links")) {
      final int ifindex = VethPair.create(host, "h0", workload, "w0").hostIfindex();
      host.run(
          () -> {
            checkFilter(new TcFilter(ifindex, true, 1, 1));
            checkFilter(new TcFilter(ifindex, false, 1, 1));
            return null;
          });
    }
  }

  private static void checkFilter(TcFilter filter) {
    try (BpfObject object = open()) {
      assertEquals(-Errno.ENOENT, noFilter(filter.programId()));
      assertEquals(0, filter.attachOrReplace(object.programFd("first")));
      assertEquals(programId(object, "first"), filter.programId());
      assertEquals(0, filter.attachOrReplace(object.programFd("second")));
      assertEquals(programId(object, "second"), filter.programId());
      assertEquals(0, filter.detach());
      assertEquals(-Errno.ENOENT, noFilter(filter.programId()));
    }
  }

  /** Without a clsact qdisc the kernel says EINVAL. */
  private static int noFilter(int result) {
    return result == -Errno.EINVAL ? -Errno.ENOENT : result;
  }

  private static int programId(BpfObject object, String program) {
    return ObjectDescriptions.program(object.programFd(program)).id();
  }

  private static BpfObject open() {
    LibBpf.ensureLoaded();
    final BpfObject object = BpfObject.open(TestObjects.compile(PROGRAMS), "links");
    object.load();
    return object;
  }
}
