package agent.maps.btf;

import agent.maps.btf.BtfType.Array;
import agent.maps.btf.BtfType.Composite;
import agent.maps.btf.BtfType.DataSection;
import agent.maps.btf.BtfType.Enumeration;
import agent.maps.btf.BtfType.FloatingPoint;
import agent.maps.btf.BtfType.Int;
import agent.maps.btf.BtfType.Ptr;
import agent.maps.btf.BtfType.Qualifier;
import agent.maps.btf.BtfType.TypeTag;
import agent.maps.btf.BtfType.Typedef;
import java.util.List;
import java.util.Optional;

/** The types of one object, or of one map or program in the kernel. Immutable. */
public final class Btf {
  /** Name of the ELF section that contains BTF. */
  public static final String SECTION = ".BTF";

  private static final int MAX_CHAIN = 64;

  private final List<BtfType> types;

  Btf(List<BtfType> types) {
    this.types = List.copyOf(types);
  }

  /**
   * Parses raw BTF, from the section {@code .BTF} or from the kernel.
   *
   * @throws BtfException if it is truncated, of another version, or contains an unknown kind
   */
  public static Btf parse(byte[] raw) {
    return new BtfReader(raw).read();
  }

  /**
   * Reads the BTF of an ELF object.
   *
   * @throws BtfException if the object has no BTF
   */
  public static Btf of(ElfObject object) {
    return parse(object.section(SECTION));
  }

  /** Returns the number of types; ids are less. */
  public int size() {
    return types.size();
  }

  /**
   * Returns the type of that id.
   *
   * @throws BtfException if no type has that id
   */
  public BtfType type(int id) {
    if (id < 0 || id >= size()) {
      throw new BtfException("BTF: no type " + id + " among " + size() + " types");
    }
    return types.get(id);
  }

  /** Returns the first type of that class and name. */
  public <T extends BtfType> Optional<T> find(Class<T> kind, String name) {
    return types.stream()
        .filter(kind::isInstance)
        .map(kind::cast)
        .filter(type -> type.name().equals(name))
        .findFirst();
  }

  public Optional<DataSection> dataSection(String name) {
    return find(DataSection.class, name);
  }

  /** Returns the type that typedefs, qualifiers and tags refer to. */
  public BtfType resolve(int id) {
    BtfType type = type(id);
    for (int i = 0; i < MAX_CHAIN; i++) {
      switch (type) {
        case Typedef typedef -> type = type(typedef.type());
        case Qualifier qualifier -> type = type(qualifier.type());
        case TypeTag tag -> type = type(tag.type());
        default -> {
          return type;
        }
      }
    }
    throw new BtfException("BTF: type " + id + " refers to itself");
  }

  /**
   * Returns the name that a declaration uses for its type: the outermost typedef, or the type
   * itself.
   */
  public String declaredName(int id) {
    BtfType type = type(id);
    for (int i = 0; i < MAX_CHAIN; i++) {
      switch (type) {
        case Qualifier qualifier -> type = type(qualifier.type());
        case TypeTag tag -> type = type(tag.type());
        default -> {
          return type.name();
        }
      }
    }
    throw new BtfException("BTF: type " + id + " refers to itself");
  }

  /**
   * Returns the size of a value of the type, in bytes.
   *
   * @throws BtfException if the type has no size
   */
  public int sizeOf(int id) {
    int count = 1;
    BtfType type = resolve(id);
    for (int i = 0; type instanceof Array(int element, int _, int elements); i++) {
      if (i == MAX_CHAIN) {
        throw new BtfException("BTF: type " + id + " refers to itself");
      }
      count = Math.multiplyExact(count, elements);
      type = resolve(element);
    }
    return Math.multiplyExact(count, sizeOf(type));
  }

  private static int sizeOf(BtfType type) {
    return switch (type) {
      case Int number -> number.size();
      case Composite composite -> composite.size();
      case Enumeration enumeration -> enumeration.size();
      case FloatingPoint number -> number.size();
      case Ptr _ -> Long.BYTES;
      case DataSection section -> section.size();
      case BtfType other -> throw new BtfException("BTF: " + other + " has no size");
    };
  }
}
