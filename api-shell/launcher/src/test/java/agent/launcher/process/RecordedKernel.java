package agent.launcher.process;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapFlag;
import agent.bindings.bpf.MapSpec;
import agent.bindings.bpf.SocketHook;
import agent.bindings.bpf.XdpMode;
import agent.bindings.net.NetworkDevice;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;

/**
 * What a release of the agent left in the kernel, created again from a recording of that release:
 * its pinned maps with their entries, and its pinned links with its own programs. Nothing of
 * today's datapath decides a path, a shape or a value. The lines of {@code kernel.txt}, with pins
 * below the BPF root and bytes in hexadecimal as they lie in memory:
 *
 * <pre>
 * map PIN TYPE KEY-BYTES VALUE-BYTES MAX-ENTRIES FLAGS   maps in an array have the shape before it
 * fill VALUE                                             every entry of the array above
 * run FIRST COUNT VALUE                                  entries of the array above
 * entry KEY VALUE                                        of the map above
 * unpinned NAME TYPE KEY-BYTES …                         a map that only an array of maps keeps
 * inner KEY PIN                                          entry of the array of maps above, or NAME
 * storage PIN OBJECT                                     a map that libbpf creates with an object
 * link PIN OBJECT PROGRAM INTERFACE HOOK RODATA          hyphens stand for what there is not
 * </pre>
 *
 * <p>The recording was read from the kernel while that release ran: all that it had pinned, the
 * entries but those of counters, notifications and flows, and of each linked program the content of
 * its {@code .rodata} map. The release's objects lie beside it as {@code OBJECT.bpf.o.gz}, and the
 * state directory that it left as {@code state}.
 */
final class RecordedKernel implements AutoCloseable {
  private static final int ARRAY_OF_MAPS = 12;
  private static final String NONE = "-";

  private final Path release;
  private final Path bpfRoot;
  private final Path cgroup;
  private final Map<String, Integer> maps = new HashMap<>();
  private final Map<String, BpfObject> objects = new HashMap<>();
  private MapSpec spec;
  private int fd;

  private RecordedKernel(Path release, Path bpfRoot, Path cgroup) {
    this.release = release;
    this.bpfRoot = bpfRoot;
    this.cgroup = cgroup;
  }

  /**
   * Creates all of it, on the interfaces of the calling thread's network namespace.
   *
   * @param cgroup control group of the programs at sockets; null where the release has none
   */
  static void create(Path release, Path bpfRoot, Path cgroup) throws IOException {
    try (RecordedKernel kernel = new RecordedKernel(release, bpfRoot, cgroup)) {
      for (final String line : Files.readAllLines(release.resolve("kernel.txt"))) {
        kernel.add(line.split(" "));
      }
    }
  }

  private void add(String[] words) throws IOException {
    switch (words[0]) {
      case "map" -> {
        addMap(words);
        check(BpfFileSystem.pin(fd, pin(words[1])), "pin " + words[1]);
      }
      case "unpinned" -> addMap(words);
      case "fill" -> fill(0, spec.maxEntries(), HexFormat.of().parseHex(words[1]));
      case "run" ->
          fill(
              Integer.parseInt(words[1]),
              Integer.parseInt(words[2]),
              HexFormat.of().parseHex(words[3]));
      case "entry" -> write(HexFormat.of().parseHex(words[1]), HexFormat.of().parseHex(words[2]));
      case "inner" -> write(HexFormat.of().parseHex(words[1]), number(maps.get(name(words[2]))));
      case "storage" -> {
        final int storage = object(words[2], NONE).mapFd(name(words[1]));
        check(BpfFileSystem.pin(storage, pin(words[1])), "pin " + words[1]);
      }
      case "link" -> addLink(words);
      default -> throw new IOException("kernel.txt: " + words[0]);
    }
  }

  private void addMap(String[] words) throws IOException {
    final int type = Integer.parseInt(words[2]);
    spec =
        new MapSpec(
            type,
            name(words[1]),
            Integer.parseInt(words[3]),
            Integer.parseInt(words[4]),
            Integer.parseInt(words[5]),
            Integer.parseInt(words[6]),
            type == ARRAY_OF_MAPS ? spec : null);
    fd = check(MapCalls.create(spec), "create " + words[1]);
    maps.put(spec.name(), fd);
  }

  private void fill(int first, int count, byte[] value) {
    for (int i = first; i < first + count; i++) {
      write(number(i), value);
    }
  }

  private void write(byte[] key, byte[] value) {
    try (Arena arena = Arena.ofConfined()) {
      final int result =
          MapCalls.update(
              fd,
              arena.allocateFrom(ValueLayout.JAVA_BYTE, key),
              arena.allocateFrom(ValueLayout.JAVA_BYTE, value),
              MapFlag.ANY);
      check(result, "write " + spec.name());
    }
  }

  private void addLink(String[] words) throws IOException {
    final BpfProgram program = object(words[2], words[6]).program(words[3]);
    try (BpfLink link =
        words[4].equals(NONE)
            ? BpfLink.createCgroup(program, cgroup, SocketHook.valueOf(words[5]))
            : attach(program, words[4], words[5])) {
      link.pin(pin(words[1]));
    }
  }

  private static BpfLink attach(BpfProgram program, String device, String hook) throws IOException {
    final int ifindex = check(NetworkDevice.index(device), device);
    return switch (hook) {
      case "ingress" -> BpfLink.createTcx(program, ifindex, true);
      case "egress" -> BpfLink.createTcx(program, ifindex, false);
      case "xdp-generic" -> BpfLink.createXdp(program, ifindex, XdpMode.GENERIC);
      default -> throw new IOException("kernel.txt: hook " + hook);
    };
  }

  /** An object of the release, loaded with these constants. */
  private BpfObject object(String name, String rodata) throws IOException {
    final BpfObject loaded = objects.get(name + rodata);
    if (loaded != null) {
      return loaded;
    }
    final Path file = release.resolve(name + ".bpf.o.gz");
    final BpfObject object;
    try (GZIPInputStream elf = new GZIPInputStream(Files.newInputStream(file))) {
      object = BpfObject.open(elf.readAllBytes(), name);
    }
    objects.put(name + rodata, object);
    final List<String> declared = object.mapNames();
    maps.forEach(
        (pin, fd) -> {
          final String map = pin.replaceFirst("_v\\d+$", ""); // the version of its layout
          if (declared.contains(map)) {
            object.reuseMap(map, fd);
          }
        });
    if (!rodata.equals(NONE)) {
      object.rodata().copyFrom(MemorySegment.ofArray(HexFormat.of().parseHex(rodata)));
    }
    object.load();
    return object;
  }

  private static int check(int result, String operation) {
    if (result < 0) {
      throw new BindingsException(operation, result);
    }
    return result;
  }

  private Path pin(String path) throws IOException {
    final Path pin = bpfRoot.resolve(path);
    Files.createDirectories(pin.getParent());
    return pin;
  }

  private static String name(String pin) {
    return pin.substring(pin.lastIndexOf('/') + 1);
  }

  private static byte[] number(int value) {
    return ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.nativeOrder()).putInt(value).array();
  }

  /** Closes descriptors; what is pinned stays. */
  @Override
  public void close() {
    objects.values().forEach(BpfObject::close);
    maps.values().forEach(Descriptors::close);
  }
}
