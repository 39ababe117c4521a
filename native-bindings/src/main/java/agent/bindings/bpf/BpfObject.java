package agent.bindings.bpf;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.LibC;
import agent.bindings.MappedMemory;
import agent.bindings.libbpf.Libbpf;
import agent.bindings.libbpf.bpf_object_open_opts;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * An ELF object with programs and maps, which one thread opens, prepares, loads and closes. Closing
 * it closes the programs and map descriptors that it returned; pinned and attached objects remain
 * in the kernel.
 */
@SuppressWarnings("restricted") // links native functions and reinterprets segments
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
  private final Map<String, BpfProgram> programs = new HashMap<>();
  private MemorySegment object;

  private BpfObject(Arena arena, MappedMemory kernelLog, String name, MemorySegment object) {
    this.arena = arena;
    this.kernelLog = kernelLog;
    this.name = name;
    this.object = object;
  }

  /**
   * Parses an object without loading it into the kernel.
   *
   * @param elf the bytes of the object file
   * @param name used in messages and as the prefix of the kernel's name of .rodata
   * @throws LoadException if the bytes are not a BPF object
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

  /** Returns the names of the object's maps, including internal ones such as .rodata. */
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

  /** Returns the declarations of the object's maps, without internal ones such as .rodata. */
  public List<MapSpec> maps() {
    final List<MapSpec> specs = new ArrayList<>();
    MemorySegment map = MemorySegment.NULL;
    while (true) {
      map = Libbpf.bpf_object__next_map(object(), map);
      if (map.equals(MemorySegment.NULL)) {
        return specs;
      }
      if (!Libbpf.bpf_map__is_internal(map)) {
        specs.add(spec(map));
      }
    }
  }

  private static MapSpec spec(MemorySegment map) {
    final MemorySegment inner = Libbpf.bpf_map__inner_map(map);
    return new MapSpec(
        Libbpf.bpf_map__type(map),
        Libbpf.bpf_map__name(map).getString(0),
        Libbpf.bpf_map__key_size(map),
        Libbpf.bpf_map__value_size(map),
        Libbpf.bpf_map__max_entries(map),
        Libbpf.bpf_map__map_flags(map),
        inner.equals(MemorySegment.NULL) ? null : spec(inner));
  }

  /** Replaces a map by an existing one, before load; libbpf duplicates the descriptor. */
  public void reuseMap(String map, int fd) {
    check(Libbpf.bpf_map__reuse_fd(map(map), fd), "reuse map " + map);
  }

  /** Sets the map's capacity in entries, before load. */
  public void setMaxEntries(String map, int maxEntries) {
    check(
        Libbpf.bpf_map__set_max_entries(map(map), maxEntries),
        "map " + map + ": set " + maxEntries + " entries");
  }

  /**
   * Returns the constants of .rodata, which the caller writes in place before load.
   *
   * @throws BindingsException if the object has no .rodata
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
   * Creates the maps and loads the programs, which the verifier checks.
   *
   * @throws LoadException if the kernel refuses; it contains the last lines of the verifier log
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

  /**
   * Returns a program after load; it is open until this object is closed.
   *
   * @throws BindingsException ENOENT if the object has no such program, EINVAL if it was not loaded
   */
  public BpfProgram program(String program) {
    return programs.computeIfAbsent(
        program,
        name ->
            BpfProgram.ofObject(
                name, check(Libbpf.bpf_program__fd(find(name)), "descriptor of program " + name)));
  }

  /** Returns whether the object has a program of this name. */
  public boolean hasProgram(String program) {
    try (Arena scratch = Arena.ofConfined()) {
      return !Libbpf.bpf_object__find_program_by_name(object(), scratch.allocateFrom(program))
          .equals(MemorySegment.NULL);
    }
  }

  /** Returns the map's descriptor after load; it is open until this object is closed. */
  public int mapFd(String map) {
    return check(Libbpf.bpf_map__fd(map(map)), "descriptor of map " + map);
  }

  @Override
  public void close() {
    if (!object.equals(MemorySegment.NULL)) {
      programs.values().forEach(BpfProgram::invalidate);
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

  private MemorySegment find(String program) {
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
