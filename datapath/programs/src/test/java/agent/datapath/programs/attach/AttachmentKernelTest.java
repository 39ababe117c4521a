package agent.datapath.programs.attach;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Descriptors;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.BpfProgram.ProgramDescription;
import agent.bindings.bpf.KernelFeatures;
import agent.bindings.bpf.LibBpf;
import agent.bindings.bpf.TcFilter;
import agent.bindings.bpf.XdpMode;
import agent.conductor.ConductorAgent;
import agent.conductor.Repairs;
import agent.datapath.guard.KernelFaults;
import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.Prefilter.PrefilterMode;
import agent.datapath.spec.TcMode;
import agent.testkit.KernelTest;
import agent.testkit.NetworkNamespace;
import agent.testkit.TemporaryBpfFileSystem;
import agent.testkit.VethPair;
import agent.types.IpAddress;
import agent.types.MacAddress;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Attachments of one hook and of the two hooks of an endpoint: replace, restore and detach. */
@KernelTest
class AttachmentKernelTest {
  private static final int ENDPOINT = 7;
  private static final int AGENT_HANDLE = 0x6167;
  private static final String DEVICE = "h0";

  private final NetworkNamespace host = NetworkNamespace.create("att");
  private final NetworkNamespace workload = NetworkNamespace.create("att");
  private final TemporaryBpfFileSystem bpffs = TemporaryBpfFileSystem.mount();
  private final Pins pins = Pins.prepare(bpffs.path());
  private final List<BpfObject> objects = new ArrayList<>();
  private final HookGuard guard =
      new HookGuard(
          new ConductorAgent("test", System::nanoTime), new KernelFaults(), new Repairs());
  private int ifindex;
  private EndpointSpec endpoint;

  @BeforeEach
  void create() {
    LibBpf.ensureLoaded();
    ifindex = VethPair.create(host, DEVICE, workload, "w0").hostIfindex();
    endpoint =
        new EndpointSpec(
            ENDPOINT,
            ifindex,
            DEVICE,
            IpAddress.parse("10.77.0.7"),
            null,
            MacAddress.parse("02:00:00:00:00:07"),
            MacAddress.parse("02:00:00:00:00:08"),
            7001,
            0,
            0);
  }

  @AfterEach
  void remove() {
    guard.close();
    objects.forEach(BpfObject::close);
    workload.close();
    host.close();
    bpffs.close();
  }

  static List<TcMode> tcModes() {
    return KernelFeatures.probe().tcx()
        ? List.of(TcMode.TCX, TcMode.CLSACT)
        : List.of(TcMode.CLSACT);
  }

  private static TcAttachmentChoice choice(TcMode mode) {
    return TcAttachmentChoice.of(mode, KernelFeatures.probe());
  }

  private BpfObject load(String name) throws IOException {
    try (InputStream in = getClass().getResourceAsStream("/bpf/" + name + ".bpf.o")) {
      final BpfObject object = BpfObject.open(in.readAllBytes(), name);
      objects.add(object);
      object.mapNames().stream()
          .filter(map -> map.startsWith("conntrack"))
          .forEach(map -> object.setMaxEntries(map, 64));
      object.load();
      return object;
    }
  }

  /** Runs an action in the network namespace of the host. */
  private void onHost(Action action) throws Exception {
    host.run(
        () -> {
          action.run();
          return null;
        });
  }

  private interface Action {
    void run() throws Exception;
  }

  private TcHook hook(boolean isIngress) {
    final String program = isIngress ? Pins.FROM_ENDPOINT : Pins.TO_ENDPOINT;
    return new TcHook(DEVICE, ifindex, isIngress, program, pins.endpoint(ENDPOINT, program));
  }

  /** Returns the id of the program that the agent attached to a hook, or 0. */
  private int programAt(TcMode mode, boolean isIngress) throws Exception {
    if (mode == TcMode.CLSACT) {
      final TcFilter filter = new TcFilter(ifindex, isIngress, AGENT_HANDLE, AGENT_HANDLE);
      return host.run(filter::info).map(ProgramDescription::id).orElse(0);
    }
    final Optional<BpfLink> pinned = BpfLink.openPinned(hook(isIngress).pin());
    if (pinned.isEmpty()) {
      return 0;
    }
    try (BpfLink link = pinned.get()) {
      return link.info().ifindex() == ifindex ? link.info().programId() : 0;
    }
  }

  /** Occupies the ingress hook, so that the next attachment to it fails. */
  private void occupyIngress(TcMode mode) throws Exception {
    if (mode == TcMode.CLSACT) {
      final BpfProgram foreign = load("trivial").program("trivial_tc");
      onHost(() -> new TcFilter(ifindex, true, AGENT_HANDLE, AGENT_HANDLE).update(foreign));
      return;
    }
    final Path pin = hook(true).pin();
    PinnedLinkAttachment.detachPinned(pin);
    pinMap(pin);
  }

  private void pinMap(Path pin) throws IOException {
    Pins.createFolder(pin);
    assertEquals(0, BpfFileSystem.pin(load("trivial").mapFd("variations"), pin));
  }

  @ParameterizedTest
  @MethodSource("tcModes")
  void shouldRestoreTheFirstProgramWhenTheSecondAttachmentFails(TcMode mode) throws Exception {
    final EndpointAttachments attachments = attachments(mode);
    final BpfObject before = load("endpoint");
    final BpfObject after = load("endpoint");
    onHost(() -> attachments.attach(endpoint, before));
    assertEquals(before.program("from_endpoint").info().id(), programAt(mode, true));
    occupyIngress(mode);

    assertThrows(AttachException.class, () -> onHost(() -> attachments.attach(endpoint, after)));

    assertEquals(before.program("to_endpoint").info().id(), programAt(mode, false));
  }

  @ParameterizedTest
  @MethodSource("tcModes")
  void shouldAttachNeitherProgramWhenTheSecondAttachmentFails(TcMode mode) throws Exception {
    final EndpointAttachments attachments = attachments(mode);
    final BpfObject object = load("endpoint");
    occupyIngress(mode);

    assertThrows(AttachException.class, () -> onHost(() -> attachments.attach(endpoint, object)));

    assertEquals(0, programAt(mode, false));
  }

  @ParameterizedTest
  @MethodSource("tcModes")
  void shouldReplaceTheProgramAndRestoreThePreviousOne(TcMode mode) throws Exception {
    final BpfProgram first = load("endpoint").program("from_endpoint");
    final BpfProgram second = load("endpoint").program("from_endpoint");
    final Attachment attachment = choice(mode).chosen(hook(true));
    onHost(
        () -> {
          assertFalse(attachment.isAttached());
          attachment.detach();
          attachment.attach(first).close();
          assertTrue(attachment.isAttached());
          try (PreviousProgram before = attachment.attach(second)) {
            assertEquals(second.info().id(), programAt(mode, true));
            before.restore();
          }
          assertEquals(first.info().id(), programAt(mode, true));
          attachment.detach();
          assertFalse(attachment.isAttached());
          assertEquals(0, programAt(mode, true));
        });
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldKeepTheLinkAndItsPinWhenTheProgramIsReplaced() throws Exception {
    final TcxAttachment attachment = new TcxAttachment(hook(true));
    final BpfObject object = load("endpoint");
    onHost(() -> attachment.attach(object.program("from_endpoint")).close());
    final int id = linkId(hook(true).pin());
    onHost(() -> attachment.attach(object.program("to_endpoint")).close());
    assertEquals(id, linkId(hook(true).pin()));
    attachment.detach();
    assertFalse(
        Files.exists(hook(true).pin().getParent()), "the folder is deleted with its last pin");
  }

  private static int linkId(Path pin) {
    try (BpfLink link = BpfLink.openPinned(pin).orElseThrow()) {
      return link.info().id();
    }
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldReplaceAPinnedLinkOfAnotherHook() throws Exception {
    final BpfProgram program = load("endpoint").program("from_endpoint");
    final TcHook ingress = hook(true);
    final TcHook egress = new TcHook(DEVICE, ifindex, false, Pins.FROM_ENDPOINT, ingress.pin());
    onHost(() -> new TcxAttachment(ingress).attach(program).close());
    final int id = linkId(ingress.pin());
    onHost(() -> new TcxAttachment(egress).attach(program).close());
    assertNotEquals(id, linkId(ingress.pin()));
    try (BpfLink link = BpfLink.openPinned(ingress.pin()).orElseThrow()) {
      assertFalse(link.info().isTcxIngress());
    }
  }

  @Test
  void shouldDetachALinkThatCannotBePinned() throws Exception {
    final BpfProgram program = load("trivial").program("trivial_xdp");
    final Path folder = Files.createTempDirectory("agent-no-bpffs-");
    final Path pin = pins.device(DEVICE, "prefilter");
    try {
      assertThrows(
          AttachException.class, () -> onHost(() -> xdp(folder.resolve("link")).attach(program)));
    } finally {
      Files.delete(folder);
    }
    onHost(() -> xdp(pin).attach(program).close());
    assertTrue(linkId(pin) > 0);
  }

  private XdpAttachment xdp(Path pin) {
    return new XdpAttachment(DEVICE, ifindex, XdpMode.GENERIC, pin);
  }

  private void close(EndpointAttachments attachments, BpfObject closed) throws Exception {
    onHost(
        () -> {
          attachments.close(ENDPOINT, ifindex, DEVICE, true, closed);
          attachments.close(ENDPOINT, ifindex, DEVICE, false, closed);
        });
  }

  @ParameterizedTest
  @MethodSource("tcModes")
  void shouldReplaceClosingProgramsAndRestoreThemWhereTheAttachmentFails(TcMode mode)
      throws Exception {
    final EndpointAttachments attachments = attachments(mode);
    final BpfObject closed = load("endpoint");
    final BpfObject object = load("endpoint");
    close(attachments, closed);
    assertEquals(closed.program("from_endpoint").info().id(), programAt(mode, true));
    assertEquals(closed.program("to_endpoint").info().id(), programAt(mode, false));
    occupyIngress(mode);
    assertThrows(AttachException.class, () -> onHost(() -> attachments.attach(endpoint, object)));
    assertEquals(closed.program("to_endpoint").info().id(), programAt(mode, false));
  }

  @ParameterizedTest
  @MethodSource("tcModes")
  void shouldNotReplaceTheProgramsOfAnEndpointToCloseIt(TcMode mode) throws Exception {
    final EndpointAttachments attachments = attachments(mode);
    final BpfObject object = load("endpoint");
    close(attachments, load("endpoint"));
    onHost(() -> attachments.attach(endpoint, object));
    close(attachments, load("endpoint"));
    assertEquals(object.program("from_endpoint").info().id(), programAt(mode, true));
    assertEquals(object.program("to_endpoint").info().id(), programAt(mode, false));
    final List<String> errors = new ArrayList<>();
    onHost(
        () -> {
          attachments.detach(ENDPOINT, ifindex, DEVICE, true, errors);
          attachments.detach(ENDPOINT, ifindex, DEVICE, false, errors);
        });
    assertEquals(List.of(), errors);
    assertEquals(0, programAt(mode, true));
    assertEquals(0, programAt(mode, false));
  }

  @Test
  @KernelTest(since = "6.6")
  void shouldNotAttachClosingProgramsBesideFiltersOfAPreviousRun() throws Exception {
    final BpfObject object = load("endpoint");
    onHost(() -> attachments(TcMode.CLSACT).attach(endpoint, object));
    final EndpointAttachments links = attachments(TcMode.TCX);
    close(links, load("endpoint"));
    assertEquals(0, programAt(TcMode.TCX, true));
    assertEquals(0, programAt(TcMode.TCX, false));
    onHost(() -> links.attach(endpoint, object));
    assertEquals(
        0, programAt(TcMode.CLSACT, true), "the filter is removed after the link is attached");
    assertEquals(0, programAt(TcMode.CLSACT, false));
  }

  @Test
  void shouldReplaceItsXdpProgramAndRefuseAForeignOne() throws Exception {
    final Path pin = pins.device(DEVICE, "prefilter_generic");
    final XdpAttachment attachment = xdp(pin);
    final BpfObject object = load("trivial");
    final BpfProgram first = object.program("trivial_xdp");
    final BpfProgram second = object.program("vary_source4");
    onHost(() -> attachment.attach(first).close());
    final int id = linkId(pin);
    onHost(
        () -> {
          try (PreviousProgram before = attachment.attach(second)) {
            before.restore();
          }
        });
    try (BpfLink link = BpfLink.openPinned(pin).orElseThrow()) {
      assertEquals(id, link.info().id());
      assertEquals(first.info().id(), link.info().programId());
    }
    final Path other = pins.device(DEVICE, "other");
    final AttachException failure =
        assertThrows(AttachException.class, () -> onHost(() -> xdp(other).attach(second)));
    assertEquals(
        "h0 (ifindex " + ifindex + ", XDP generic): another XDP program is attached",
        failure.getMessage());
    assertEquals(id, linkId(pin));
  }

  @Test
  void shouldNotUnpinAMapAmongTheDeviceLinks() throws Exception {
    final BpfProgram program = load("trivial").program("trivial_xdp");
    final Path map = pins.device("gone0", "prefilter");
    final DeviceAttachments before = new DeviceAttachments(pins, choice(TcMode.CLSACT));
    pinMap(map);
    onHost(
        () ->
            before.attachXdp(
                DEVICE, ifindex, DeviceAttachments.PREFILTER, PrefilterMode.GENERIC, program));
    new DeviceAttachments(pins, choice(TcMode.CLSACT)).detachOthers();
    assertFalse(Files.exists(pins.device(DEVICE, "prefilter_generic")));
    final int fd = BpfFileSystem.open(map);
    assertTrue(fd >= 0, "the map is still pinned");
    Descriptors.close(fd);
  }

  private EndpointAttachments attachments(TcMode mode) {
    return new EndpointAttachments(pins, choice(mode), guard, new KernelFaults(), () -> "");
  }
}
