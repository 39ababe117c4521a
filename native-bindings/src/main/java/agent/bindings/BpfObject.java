package agent.bindings;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_object_open_opts;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * One ELF object of programs and maps: opened, prepared, loaded, closed, by one thread. Closing it
 * closes the descriptors that it gave out; what is pinned or attached stays in the kernel.
 */
@SuppressWarnings("restricted") // it links native code, and knows its sizes
public final class BpfObject implements AutoCloseable {
  private static final MethodHandle OPEN_MEMORY =
      Linker.nativeLinker()
          .downcallHandle(
              Libbpf.bpf_object__open_mem$address(),
              Libbpf.bpf_object__open_mem$descriptor(),
              Linker.Option.captureCallState("errno"));

  private static final long LOG_BYTES = 16 << 20;

  private final Arena arena;
  private final MappedMemory kernelLog;
  private final String name;
  private MemorySegment object;

  private BpfObject(Arena arena, MappedMemory kernelLog, String name, MemorySegment object) {
    this.arena = arena;
    this.kernelLog = kernelLog;
    this.name = name;
    this.object = object;
  }

  /**
   * Parses an object; nothing reaches the kernel yet.
   *
   * @param elf the bytes of the file that clang wrote
   * @param name for messages, and the prefix of the kernel's name for .rodata
   * @throws LoadException where it is not a BPF object
   */
  public static BpfObject open(byte[] elf, String name) {
    final Arena arena = Arena.ofShared();
    final MappedMemory kernelLog = MappedMemory.anonymous(LOG_BYTES);
    LibBpfMessages.begin();
    try {
      final MemorySegment bytes = arena.allocate(elf.length, 8);
      MemorySegment.copy(elf, 0, bytes, JAVA_BYTE, 0, elf.length);
      final MemorySegment options = bpf_object_open_opts.allocate(arena);
      bpf_object_open_opts.sz(options, bpf_object_open_opts.sizeof());
      bpf_object_open_opts.object_name(options, arena.allocateFrom(name));
      bpf_object_open_opts.kernel_log_buf(options, kernelLog.segment());
      bpf_object_open_opts.kernel_log_size(options, LOG_BYTES);
      final MemorySegment state = arena.allocate(LibC.CALL_STATE);
      final MemorySegment object =
          (MemorySegment) OPEN_MEMORY.invokeExact(state, bytes, (long) elf.length, options);
      final List<String> messages = LibBpfMessages.end();
      if (object.equals(MemorySegment.NULL)) {
        throw new LoadException(
            "open object " + name, LibC.errno(state), LoadLog.of(messages, null));
      }
      return new BpfObject(arena, kernelLog, name, object);
    } catch (Throwable t) {
      LibBpfMessages.end();
      kernelLog.close();
      arena.close();
      if (t instanceof Error error) {
        throw error;
      }
      throw t instanceof RuntimeException exception ? exception : new IllegalStateException(t);
    }
  }

  /** The name given to {@link #open(byte[], String)}. */
  public String name() {
    return name;
  }

  /** The names of the object's maps, .rodata and the like included. */
  public List<String> mapNames() {
    final List<String> names = new ArrayList<>();
    MemorySegment map = MemorySegment.NULL;
    while (true) {
      map = Libbpf.bpf_object__next_map(object(), map);
      if (map.equals(MemorySegment.NULL)) {
        return names;
      }
      names.add(Libbpf.bpf_map__name(map).getString(0));
    }
  }

  /** The names of the object's programs. */
  public List<String> programNames() {
    final List<String> names = new ArrayList<>();
    MemorySegment program = MemorySegment.NULL;
    while (true) {
      program = Libbpf.bpf_object__next_program(object(), program);
      if (program.equals(MemorySegment.NULL)) {
        return names;
      }
      names.add(Libbpf.bpf_program__name(program).getString(0));
    }
  }

  /** Whether the object declares the map. */
  public boolean hasMap(String map) {
    return mapNames().contains(map);
  }

  /** What the object declares of a map, as changed by the setters of this class. */
  public MapSpec mapSpec(String map) {
    final MemorySegment handle = map(map);
    return MapSpec.of(
        Libbpf.bpf_map__type(handle),
        map,
        Libbpf.bpf_map__key_size(handle),
        Libbpf.bpf_map__value_size(handle),
        Libbpf.bpf_map__max_entries(handle),
        Libbpf.bpf_map__map_flags(handle));
  }

  /**
   * What the object declares of the inner maps of a map of maps.
   *
   * @throws BindingsException where the map has none
   */
  public MapSpec innerMapSpec(String map) {
    final MemorySegment handle = Libbpf.bpf_map__inner_map(map(map));
    if (handle.equals(MemorySegment.NULL)) {
      throw new BindingsException("object " + name + ": map " + map + " has no inner map");
    }
    return MapSpec.of(
        Libbpf.bpf_map__type(handle),
        map,
        Libbpf.bpf_map__key_size(handle),
        Libbpf.bpf_map__value_size(handle),
        Libbpf.bpf_map__max_entries(handle),
        Libbpf.bpf_map__map_flags(handle));
  }

  /** Before load: uses an existing map; libbpf keeps a descriptor of its own. */
  public void reuseMap(String map, int fd) {
    check(Libbpf.bpf_map__reuse_fd(map(map), fd), "reuse map " + map);
  }

  /** Before load: the map's capacity. */
  public void setMaxEntries(String map, int maxEntries) {
    check(
        Libbpf.bpf_map__set_max_entries(map(map), maxEntries),
        "map " + map + ": set " + maxEntries + " entries");
  }

  /** Before load: the map's BPF_F_ flags. */
  public void setMapFlags(String map, int flags) {
    check(
        Libbpf.bpf_map__set_map_flags(map(map), flags),
        "map " + map + ": set flags 0x" + Integer.toHexString(flags));
  }

  /** Before load: an existing map whose shape the inner maps of this map of maps have. */
  public void setInnerMapFd(String map, int fd) {
    check(Libbpf.bpf_map__set_inner_map_fd(map(map), fd), "map " + map + ": set inner map");
  }

  /** Before load: whether the program is loaded. */
  public void setAutoload(String program, boolean autoload) {
    check(
        Libbpf.bpf_program__set_autoload(program(program), autoload),
        "program " + program + ": set autoload");
  }

  /** Before load: whether the map is made; one that no loaded program uses may be left out. */
  public void setAutocreate(String map, boolean autocreate) {
    check(Libbpf.bpf_map__set_autocreate(map(map), autocreate), "map " + map + ": set autocreate");
  }

  /**
   * Before load: the constants, to be written in place.
   *
   * @throws BindingsException where the object has none
   */
  public MemorySegment rodata() {
    final MemorySegment size = arena.allocate(JAVA_LONG);
    for (final String map : mapNames()) {
      if (map.endsWith(".rodata")) {
        final MemorySegment value = Libbpf.bpf_map__initial_value(map(map), size);
        if (!value.equals(MemorySegment.NULL)) {
          return value.reinterpret(size.get(JAVA_LONG, 0));
        }
      }
    }
    throw new BindingsException("object " + name + " has no .rodata");
  }

  /**
   * Makes the maps and has the verifier check the programs.
   *
   * @throws LoadException where the kernel refuses: the last lines say why
   */
  public void load() {
    LibBpfMessages.begin();
    final int result = Libbpf.bpf_object__load(object());
    final List<String> messages = LibBpfMessages.end();
    if (result < 0) {
      throw new LoadException(
          "load object " + name, result, LoadLog.of(messages, kernelLog.segment()));
    }
  }

  /** After load: the program's descriptor, open until this object is closed. */
  public int programFd(String program) {
    return check(Libbpf.bpf_program__fd(program(program)), "descriptor of program " + program);
  }

  /** After load: the map's descriptor, open until this object is closed. */
  public int mapFd(String map) {
    return check(Libbpf.bpf_map__fd(map(map)), "descriptor of map " + map);
  }

  @Override
  public void close() {
    if (!object.equals(MemorySegment.NULL)) {
      Libbpf.bpf_object__close(object);
      object = MemorySegment.NULL;
      kernelLog.close();
      arena.close();
    }
  }

  private MemorySegment object() {
    if (object.equals(MemorySegment.NULL)) {
      throw new IllegalStateException("object " + name + " is closed");
    }
    return object;
  }

  private MemorySegment map(String map) {
    try (Arena scratch = Arena.ofConfined()) {
      final MemorySegment handle =
          Libbpf.bpf_object__find_map_by_name(object(), scratch.allocateFrom(map));
      if (handle.equals(MemorySegment.NULL)) {
        throw new BindingsException("object " + name + " has no map " + map, Errno.ENOENT);
      }
      return handle;
    }
  }

  private MemorySegment program(String program) {
    try (Arena scratch = Arena.ofConfined()) {
      final MemorySegment handle =
          Libbpf.bpf_object__find_program_by_name(object(), scratch.allocateFrom(program));
      if (handle.equals(MemorySegment.NULL)) {
        throw new BindingsException("object " + name + " has no program " + program, Errno.ENOENT);
      }
      return handle;
    }
  }

  private int check(int result, String operation) {
    return BindingsException.check(result, "object " + name + ": " + operation);
  }
}
