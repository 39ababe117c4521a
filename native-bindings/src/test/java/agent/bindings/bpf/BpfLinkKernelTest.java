package agent.bindings.bpf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.TestObjects;
import agent.bindings.bpf.BpfLink.LinkDescription;
import agent.bindings.net.NetworkDevice;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.VethPair;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@KernelTest
class BpfLinkKernelTest {
  private static final String PROGRAMS =
      """
      SEC("tc") int first(struct __sk_buff *skb) { return -1; }
      SEC("tc") int second(struct __sk_buff *skb) { return 0; }
      SEC("xdp") int pass(struct xdp_md *context) { return XDP_PASS; }
      """;

  private final NetworkNamespace host = NetworkNamespace.create("links");
  private final NetworkNamespace workload = NetworkNamespace.create("links");
  private final TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount();
  private final Path pin = bpffs.path().resolve("link");
  private VethPair veth;
  private int ifindex;
  private BpfObject object;

  @BeforeEach
  void load() {
    veth = VethPair.create(host, "h0", workload, "w0");
    ifindex = veth.hostIfindex();
    object = open();
  }

  @AfterEach
  void close() {
    object.close();
    bpffs.close();
    workload.close();
    host.close();
  }

  private static BpfObject open() {
    LibBpf.ensureLoaded();
    final BpfObject object = BpfObject.open(TestObjects.compile(PROGRAMS), "links");
    object.load();
    return object;
  }

  private BpfProgram first() {
    return object.program("first");
  }

  private BpfProgram second() {
    return object.program("second");
  }

  private BpfLink tcx(BpfProgram program) throws Exception {
    return host.run(() -> BpfLink.createTcx(program, ifindex, true));
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldKeepAPinnedTcxLinkAndReplaceItsProgram() throws Exception {
    try (BpfLink link = tcx(first())) {
      link.pin(pin);
      final LinkDescription description = link.info();
      assertEquals(LinkDescription.TYPE_TCX, description.type());
      assertEquals(ifindex, description.ifindex());
      assertTrue(description.isTcxIngress());
      assertEquals(first().info().id(), description.programId());
    }
    object.close();
    object = open();
    try (BpfLink link = BpfLink.openPinned(pin).orElseThrow()) {
      link.update(second());
      assertEquals(second().info().id(), link.info().programId());
      link.detach();
      assertEquals(0, link.info().ifindex());
      link.unpin();
      assertFalse(Files.exists(pin));
    }
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldDistinguishEgressFromIngress() throws Exception {
    try (BpfLink link = host.run(() -> BpfLink.createTcx(first(), ifindex, false))) {
      assertFalse(link.info().isTcxIngress());
    }
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldRefuseToUpdateADetachedLinkAndDetachItTwice() throws Exception {
    try (BpfLink link = tcx(first())) {
      link.pin(pin);
      link.detach();
      final BindingsException failure =
          assertThrows(BindingsException.class, () -> link.update(second()));
      assertEquals(
          "tcx ingress link on ifindex " + ifindex + ": update with program second: ENOLINK",
          failure.getMessage());
      link.detach();
      assertTrue(Files.exists(pin), "the pin stays until it is removed");
    }
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldKeepTheExistingPinAtAnOccupiedPath() throws Exception {
    try (BpfLink link = tcx(first());
        BpfLink other = tcx(second())) {
      link.pin(pin);
      final BindingsException failure = assertThrows(BindingsException.class, () -> other.pin(pin));
      assertEquals(Errno.EEXIST, failure.errno());
      other.unpin();
      assertEquals(link.info().id(), idAt(pin), "a link that is not pinned removes no pin");
      assertThrows(IllegalStateException.class, () -> link.pin(bpffs.path().resolve("second")));
      link.unpin();
      link.unpin();
      link.pin(bpffs.path().resolve("second"));
    }
  }

  private static int idAt(Path path) {
    try (BpfLink link = BpfLink.openPinned(path).orElseThrow()) {
      return link.info().id();
    }
  }

  @Test
  void shouldReturnEmptyForAPathWithoutPin() {
    assertEquals(Optional.empty(), BpfLink.openPinned(pin));
    assertEquals(Optional.empty(), BpfProgram.openPinned(pin));
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldRefuseToOpenAPinOfAnotherKind() throws Exception {
    final Path map = bpffs.path().resolve("map");
    final Path program = bpffs.path().resolve("program");
    final int fd = MapCalls.create(MapSpec.of(MapType.ARRAY, "pinned", 4, 8, 1, 0));
    assertEquals(0, BpfFileSystem.pin(fd, map));
    Descriptors.close(fd);
    first().pin(program);
    try (BpfLink link = tcx(first())) {
      link.pin(pin);
    }
    assertMessage(map + " is not a link but a bpf-map", () -> BpfLink.openPinned(map));
    assertMessage(program + " is not a link but a bpf-prog", () -> BpfLink.openPinned(program));
    assertMessage(map + " is not a program but a bpf-map", () -> BpfProgram.openPinned(map));
    final BindingsException failure =
        assertThrows(BindingsException.class, () -> BpfProgram.openPinned(pin));
    assertTrue(failure.getMessage().startsWith(pin + " is not a program"), failure::getMessage);
    first().unpin();
  }

  private static void assertMessage(String message, Callable<?> call) {
    assertEquals(message, assertThrows(BindingsException.class, call::call).getMessage());
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldCloseADescriptorOnce() throws Exception {
    final BpfLink link = tcx(first());
    final int fd = link.fd();
    link.close();
    final List<Integer> taken = takeNumbersUpTo(fd);
    try {
      link.close();
      assertEquals("taken", MapDescription.of(fd).name(), "the number is another object's now");
    } finally {
      taken.forEach(Descriptors::close);
    }
    assertThrows(IllegalStateException.class, link::fd);
    assertThrows(IllegalStateException.class, link::detach);
    assertThrows(IllegalStateException.class, () -> link.update(first()));
    assertThrows(IllegalStateException.class, () -> link.pin(pin));
  }

  /** Creates maps, which use the lowest free descriptors, until one has the number. */
  private static List<Integer> takeNumbersUpTo(int fd) {
    final List<Integer> taken = new ArrayList<>();
    while (!taken.contains(fd)) {
      assertTrue(taken.size() < 100, "the descriptor is still open");
      taken.add(MapCalls.create(MapSpec.of(MapType.ARRAY, "taken", 4, 8, 1, 0)));
    }
    return taken;
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldOpenALinkByItsIdAsLongAsItExists() throws Exception {
    final int id;
    try (BpfLink link = tcx(first())) {
      id = link.info().id();
      try (BpfLink again = BpfLink.openById(id)) {
        assertEquals(link.info(), again.info());
      }
    }
    final BindingsException failure =
        assertThrows(BindingsException.class, () -> BpfLink.openById(id));
    assertEquals("link of id " + id + ": open: ENOENT", failure.getMessage());
  }

  @Test
  void shouldFindAnInterfaceWithoutAnAddress() throws Exception {
    assertEquals(ifindex, host.run(() -> NetworkDevice.index("h0")));
    assertEquals(-Errno.ENODEV, host.run(() -> NetworkDevice.index("w0")));
  }

  @Test
  void shouldAttachXdpInEitherModeAndRefuseASecondProgram() throws Exception {
    final BpfProgram pass = object.program("pass");
    for (final XdpMode mode : XdpMode.values()) {
      try (BpfLink link = host.run(() -> BpfLink.createXdp(pass, ifindex, mode))) {
        assertEquals(ifindex, link.info().ifindex());
        final BindingsException failure =
            assertThrows(
                BindingsException.class,
                () -> host.run(() -> BpfLink.createXdp(pass, ifindex, mode)));
        assertEquals(Errno.EBUSY, failure.errno(), failure::getMessage);
        // Closing is not enough: a child process of another test has a copy until it executes.
        link.detach();
      }
    }
  }

  @Test
  void shouldAttachReplaceAndDetachAClsactFilter() throws Exception {
    host.run(
        () -> {
          checkFilter(new TcFilter(ifindex, true, 1, 1));
          checkFilter(new TcFilter(ifindex, false, 1, 1));
          return null;
        });
  }

  private void checkFilter(TcFilter filter) {
    assertEquals(Optional.empty(), filter.info());
    filter.detach();
    filter.update(first());
    assertEquals(Optional.of(first().info()), filter.info());
    filter.update(second());
    assertEquals(Optional.of(second().info()), filter.info());
    filter.detach();
    assertEquals(Optional.empty(), filter.info());
    filter.detach();
  }

  @Test
  void shouldNameTheFilterThatCannotBeCreated() {
    final TcFilter filter = new TcFilter(Integer.MAX_VALUE, true, 7, 3);
    final BindingsException failure =
        assertThrows(BindingsException.class, () -> filter.update(first()));
    assertTrue(
        failure
            .getMessage()
            .startsWith("clsact filter 7 of priority 3 at ingress of ifindex 2147483647: create"),
        failure::getMessage);
  }
}
