package agent.launcher.process;

import agent.bindings.BindingsException;
import agent.bindings.Descriptors;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfLink;
import agent.bindings.bpf.BpfLink.LinkDescription;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapDescription;
import agent.bindings.bpf.SocketHook;
import agent.testkit.Commands;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Records what an agent has pinned, in the form that {@link RecordedKernel} reads, with its objects
 * and its state directory. It reads the kernel without the agent's own description of its maps.
 */
final class KernelRecorder {
  private static final int ARRAY = 2;
  private static final int ARRAY_OF_MAPS = 12;
  private static final int SOCKET_STORAGE = 24;
  private static final String NONE = "-";

  /** Maps that hold flows, notifications and counters, or the maps of other pins. */
  private static final Pattern WITHOUT_ENTRIES =
      Pattern.compile(
          "conntrack.*|fragments.*|events.*|.*metrics|judge_scratch|verdict_cache|policies"
              + "|service_affinities");

  private static final Map<String, String> OBJECTS =
      Map.of(
          "from_network", "host",
          "to_network", "host",
          "prefilter_generic", "prefilter",
          "balancer", "balancer",
          "balancer_generic", "balancer",
          "from_endpoint", "endpoint",
          "to_endpoint", "endpoint");

  private final Path bpfRoot;
  private final List<String> lines = new ArrayList<>();
  private final Map<Integer, String> pinsOfMaps = new TreeMap<>();

  private KernelRecorder(Path bpfRoot) {
    this.bpfRoot = bpfRoot;
  }

  /**
   * Records an agent that runs.
   *
   * @param interfaces name of each interface by its index
   * @param target an empty folder, which receives the recording
   */
  static void record(Path bpfRoot, Path state, Map<Integer, String> interfaces, Path target)
      throws IOException {
    final KernelRecorder recorder = new KernelRecorder(bpfRoot);
    recorder.maps();
    recorder.links(interfaces);
    Files.write(target.resolve("kernel.txt"), recorder.lines);
    for (final String object : List.of("endpoint", "host", "prefilter", "socket")) {
      final String file = object + ".bpf.o";
      try (InputStream elf = KernelRecorder.class.getResourceAsStream("/bpf/" + file);
          OutputStream packed =
              new GZIPOutputStream(Files.newOutputStream(target.resolve(file + ".gz")))) {
        elf.transferTo(packed);
      }
    }
    for (final String folder :
        List.of(
            "endpoints",
            "ipam",
            "node",
            "policy",
            "prefilter",
            "services",
            "service-batches",
            "names")) {
      copy(state.resolve(folder), target.resolve("state").resolve(folder));
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.createDirectories(to);
    for (final Path file : files(from)) {
      Files.copy(file, to.resolve(file.getFileName()));
    }
  }

  private static List<Path> files(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      return paths.filter(path -> !Files.isDirectory(path)).sorted().toList();
    }
  }

  /**
   * An array of maps comes after the maps in it: it has their shape, and names their pins, or the
   * numbers of those that have none. Storage of sockets is created with the programs that use it,
   * after all other maps.
   */
  private void maps() throws IOException {
    final List<Path> pins = new ArrayList<>(files(bpfRoot.resolve("agent/maps")));
    final List<String> storages = new ArrayList<>();
    pins.sort(Comparator.comparingInt(KernelRecorder::order));
    for (final Path pin : pins) {
      final int fd = BpfFileSystem.open(pin);
      final MapDescription map = MapDescription.of(fd);
      final String name = bpfRoot.relativize(pin).toString();
      if (name.endsWith("prefilter_tables")) {
        unpinned(fd, map);
      }
      pinsOfMaps.put(map.id(), name);
      if (map.type() == SOCKET_STORAGE) {
        storages.add("storage " + name + " socket");
        Descriptors.close(fd);
        continue;
      }
      shape("map", name, map);
      if (map.type() == ARRAY_OF_MAPS) {
        innerMaps(fd);
      } else if (!WITHOUT_ENTRIES.matcher(pin.getFileName().toString()).matches()) {
        entries(fd, map);
      }
      Descriptors.close(fd);
    }
    lines.addAll(storages);
  }

  private void shape(String kind, String name, MapDescription map) {
    lines.add(
        "%s %s %d %d %d %d %d"
            .formatted(
                kind,
                name,
                map.type(),
                map.keySize(),
                map.valueSize(),
                map.maxEntries(),
                map.flags()));
  }

  /** Records the maps that only an array of maps keeps. */
  private void unpinned(int fd, MapDescription array) {
    forEach(
        fd,
        array,
        (key, value) -> {
          final int inner = MapCalls.openById(value.get(ValueLayout.JAVA_INT, 0));
          final MapDescription map = MapDescription.of(inner);
          final String name = "unpinned_" + map.id();
          pinsOfMaps.put(map.id(), name);
          shape("unpinned", name, map);
          entries(inner, map);
          Descriptors.close(inner);
        });
  }

  private static int order(Path pin) {
    final String name = pin.getFileName().toString();
    return name.equals("policies") ? 2 : name.startsWith("policy_") ? 1 : 0;
  }

  private void innerMaps(int fd) {
    forEach(
        fd,
        MapDescription.of(fd),
        (key, value) -> {
          final String pin = pinsOfMaps.get(value.get(ValueLayout.JAVA_INT, 0));
          if (pin != null) {
            lines.add("inner " + hex(key) + " " + pin);
          }
        });
  }

  private void entries(int fd, MapDescription map) {
    if (map.type() == ARRAY) {
      runs(fd, map);
    } else {
      forEach(fd, map, (key, value) -> lines.add("entry " + hex(key) + " " + hex(value)));
    }
  }

  /** Records the entries of an array that are not zero, those beside each other as one. */
  private void runs(int fd, MapDescription map) {
    final List<String> values = new ArrayList<>();
    forEach(fd, map, (key, value) -> values.add(hex(value)));
    final String zero = "00".repeat(map.valueSize());
    int end;
    for (int first = 0; first < values.size(); first = end) {
      final String value = values.get(first);
      end = first + 1;
      while (end < values.size() && values.get(end).equals(value)) {
        end++;
      }
      if (!value.equals(zero)) {
        lines.add("run %d %d %s".formatted(first, end - first, value));
      }
    }
  }

  private static void forEach(
      int fd, MapDescription map, BiConsumer<MemorySegment, MemorySegment> consumer) {
    try (Arena arena = Arena.ofConfined()) {
      final MemorySegment key = arena.allocate(map.keySize(), Long.BYTES);
      final MemorySegment value = arena.allocate(map.valueSize(), Long.BYTES);
      int result = MapCalls.nextKey(fd, MemorySegment.NULL, key);
      while (result == 0) {
        final int found = MapCalls.lookup(fd, key, value);
        if (found == 0) {
          consumer.accept(key, value);
        } else if (found != -Errno.ENOENT) {
          throw new BindingsException("read " + map.name(), found);
        }
        result = MapCalls.nextKey(fd, key, key);
      }
    }
  }

  private static String hex(MemorySegment bytes) {
    return HexFormat.of().formatHex(bytes.toArray(ValueLayout.JAVA_BYTE));
  }

  private void links(Map<Integer, String> interfaces) throws IOException {
    for (final String folder : List.of("agent/devices", "agent/endpoints", "agent/sockets")) {
      for (final Path pin : files(bpfRoot.resolve(folder))) {
        try (BpfLink link = BpfLink.openPinned(pin).orElseThrow()) {
          final LinkDescription found = link.info();
          final JsonNode program = bpftool("prog", found.programId());
          lines.add(
              "link %s %s %s %s %s %s"
                  .formatted(
                      bpfRoot.relativize(pin),
                      OBJECTS.getOrDefault(pin.getFileName().toString(), "socket"),
                      program.get("name").asString(),
                      interfaces.getOrDefault(found.ifindex(), NONE),
                      hook(found),
                      rodata(program)));
        }
      }
    }
  }

  private static String hook(LinkDescription link) {
    return switch (link.type()) {
      case LinkDescription.TYPE_XDP -> "xdp-generic";
      case LinkDescription.TYPE_CGROUP ->
          Arrays.stream(SocketHook.values())
              .filter(hook -> hook.attachType() == link.attachType())
              .findAny()
              .orElseThrow()
              .name();
      default -> link.isTcxIngress() ? "ingress" : "egress";
    };
  }

  private static JsonNode bpftool(String kind, int id) {
    return JsonMapper.shared()
        .readTree(Commands.run("bpftool", "-j", kind, "show", "id", Integer.toString(id)));
  }

  /**
   * Returns the constants with which a program was loaded, the one entry of a map of its own; a
   * hyphen where it has none.
   */
  private static String rodata(JsonNode program) {
    for (final JsonNode id : program.get("map_ids")) {
      if (bpftool("map", id.asInt()).get("name").asString().endsWith(".rodata")) {
        final int fd = MapCalls.openById(id.asInt());
        final List<String> values = new ArrayList<>();
        forEach(fd, MapDescription.of(fd), (key, value) -> values.add(hex(value)));
        Descriptors.close(fd);
        return values.getFirst();
      }
    }
    return NONE;
  }
}
