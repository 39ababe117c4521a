package agent.datapath.programs.scenario;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * Computes the deepest call chain of an object by the rules of kernels before 6.8: each stack frame
 * is rounded up to 32 bytes, and calls in branches that load-time constants disable are counted,
 * too. Reads the instructions of the object, since newer kernels count less.
 */
final class CallChains {
  /**
   * A call chain.
   *
   * @param bytes total stack size
   * @param functions name and stack size of each function
   */
  record Chain(int bytes, List<String> functions) {}

  private record Place(int section, long offset) {}

  private record Function(String name, int stackBytes, List<Place> calls) {}

  private record Section(int type, int offset, int size, int link, int info) {}

  private record Symbol(String name, boolean function, Place place, long size) {}

  private static final int FRAME_STEP = 32;
  private static final int TYPE_SYMBOLS = 2;
  private static final int TYPE_RELOCATIONS = 9;
  private static final int SYMBOL_IS_FUNCTION = 2;
  private static final int INSTRUCTION_BYTES = 8;
  private static final int FRAME_POINTER = 10;
  private static final int CLASS_LOAD = 1;
  private static final int CLASS_STORE = 2;
  private static final int CLASS_STORE_REGISTER = 3;
  private static final int OPCODE_ADD = 0x07;
  private static final int OPCODE_LOAD_WIDE = 0x18;
  private static final int OPCODE_CALL = 0x85;
  private static final int OPCODE_MOVE = 0xbf;
  private static final int CALL_OF_PROGRAM = 1;

  private final ByteBuffer elf;
  private final List<Section> sections = new ArrayList<>();
  private final List<Symbol> symbols = new ArrayList<>();
  private final Map<Place, Symbol> relocations = new HashMap<>();
  private final Map<Place, Function> functions = new HashMap<>();

  private CallChains(byte[] object) {
    elf = ByteBuffer.wrap(object).order(ByteOrder.LITTLE_ENDIAN);
    final int table = (int) elf.getLong(40);
    for (int i = 0; i < elf.getShort(60); i++) {
      final int at = table + i * 64;
      sections.add(
          new Section(
              elf.getInt(at + 4),
              (int) elf.getLong(at + 24),
              (int) elf.getLong(at + 32),
              elf.getInt(at + 40),
              elf.getInt(at + 44)));
    }
    sections.stream().filter(s -> s.type == TYPE_SYMBOLS).forEach(this::readSymbols);
    sections.stream().filter(s -> s.type == TYPE_RELOCATIONS).forEach(this::readRelocations);
    symbols.stream().filter(Symbol::function).forEach(s -> functions.put(s.place, function(s)));
  }

  static Chain deepest(byte[] object) {
    final CallChains chains = new CallChains(object);
    Chain deepest = new Chain(0, List.of());
    for (final Place place : chains.functions.keySet()) {
      deepest = deeper(deepest, chains.from(place));
    }
    return deepest;
  }

  /** Returns the deepest call chain that begins at a function. */
  static Chain deepest(byte[] object, String function) {
    final CallChains chains = new CallChains(object);
    for (final Symbol symbol : chains.symbols) {
      if (symbol.function && symbol.name.equals(function)) {
        return chains.from(symbol.place);
      }
    }
    throw new IllegalArgumentException("the object has no function " + function);
  }

  private Chain from(Place place) {
    final Function function = functions.get(place);
    Chain below = new Chain(0, List.of());
    for (final Place called : function.calls) {
      below = deeper(below, from(called));
    }
    final int frame = Math.ceilDiv(Math.max(function.stackBytes, 1), FRAME_STEP) * FRAME_STEP;
    final List<String> names = new ArrayList<>(List.of(function.name + ":" + function.stackBytes));
    names.addAll(below.functions);
    return new Chain(frame + below.bytes, names);
  }

  private static Chain deeper(Chain one, Chain other) {
    return other.bytes > one.bytes ? other : one;
  }

  private void readSymbols(Section table) {
    final int names = sections.get(table.link).offset;
    for (int at = table.offset; at < table.offset + table.size; at += 24) {
      symbols.add(
          new Symbol(
              text(names + elf.getInt(at)),
              (elf.get(at + 4) & 0xf) == SYMBOL_IS_FUNCTION,
              new Place(elf.getShort(at + 6), elf.getLong(at + 8)),
              elf.getLong(at + 16)));
    }
  }

  private void readRelocations(Section table) {
    for (int at = table.offset; at < table.offset + table.size; at += 16) {
      relocations.put(
          new Place(table.info, elf.getLong(at)), symbols.get((int) (elf.getLong(at + 8) >>> 32)));
    }
  }

  private Function function(Symbol symbol) {
    final int section = symbol.place.section;
    final TreeSet<Integer> depths = new TreeSet<>(List.of(0));
    final List<Place> calls = new ArrayList<>();
    final long end = symbol.place.offset + symbol.size;
    int copy = -1; // the register that the frame pointer was copied to
    for (long at = symbol.place.offset; at < end; at += INSTRUCTION_BYTES) {
      final int instruction = sections.get(section).offset + (int) at;
      final int opcode = elf.get(instruction) & 0xff;
      final int target = elf.get(instruction + 1) & 0xf;
      final int source = elf.get(instruction + 1) >> 4 & 0xf;
      final int immediate = elf.getInt(instruction + 4);
      final int base =
          switch (opcode & 7) {
            case CLASS_LOAD -> source;
            case CLASS_STORE, CLASS_STORE_REGISTER -> target;
            default -> -1;
          };
      if (base == FRAME_POINTER) {
        depths.add(-elf.getShort(instruction + 2));
      } else if (opcode == OPCODE_MOVE && source == FRAME_POINTER) {
        copy = target;
      } else if (opcode == OPCODE_ADD && target == copy) {
        depths.add(-immediate);
        copy = -1;
      } else if (opcode == OPCODE_CALL && source == CALL_OF_PROGRAM && !isOfKernel(section, at)) {
        calls.add(called(new Place(section, at), immediate));
      }
      if (opcode == OPCODE_LOAD_WIDE) {
        at += INSTRUCTION_BYTES;
      }
    }
    return new Function(symbol.name, depths.last(), calls);
  }

  /** A function of the kernel has no section in the object. */
  private boolean isOfKernel(int section, long at) {
    final Symbol symbol = relocations.get(new Place(section, at));
    return symbol != null && symbol.place.section == 0;
  }

  private Place called(Place call, int immediate) {
    final long next = (immediate + 1L) * INSTRUCTION_BYTES;
    final Symbol symbol = relocations.get(call);
    if (symbol == null) {
      return new Place(call.section, call.offset + next);
    }
    return symbol.function ? symbol.place : new Place(symbol.place.section, next);
  }

  private String text(int start) {
    int end = start;
    while (elf.get(end) != 0) {
      end++;
    }
    return new String(elf.array(), start, end - start, StandardCharsets.US_ASCII);
  }
}
