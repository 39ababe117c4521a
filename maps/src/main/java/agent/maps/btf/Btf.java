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
  /** Name of the ELF section that carries BTF. */
  public static final String SECTION = ".BTF";

  private static final int MAX_CHAIN = 64;

  private final List<BtfType> types;

  Btf(List<BtfType> types) {
    this.types = List.copyOf(types);
  }

  /**
   * Reads raw BTF, as in the section {@code .BTF} or from the kernel.
   *
   * @throws BtfException where it is truncated, of another version or has a kind that is not known
   */
  public static Btf parse(byte[] raw) {
    return new BtfReader(raw).read();
  }

  /**
   * Reads the BTF of an ELF object.
   *
   * @throws BtfException where the object has none
   */
  public static Btf of(ElfObject object) {
    return parse(object.section(SECTION));
  }

  /** Number of types; ids are 0, which is void, to this less one. */
  public int size() {
    return types.size();
  }

  /**
   * The type of that id.
   *
   * @throws BtfException where there is none
   */
  public BtfType type(int id) {
    if (id < 0 || id >= types.size()) {
      throw new BtfException("BTF: no type " + id + ", there are " + types.size());
    }
    return types.get(id);
  }

  /** The first named type of that class. */
  public <T extends BtfType> Optional<T> find(Class<T> kind, String name) {
    return types.stream()
        .filter(kind::isInstance)
        .map(kind::cast)
        .filter(type -> type.name().equals(name))
        .findFirst();
  }

  /** The struct of that name; not a union, not a forward declaration. */
  public Optional<Composite> struct(String name) {
    return find(Composite.class, name).filter(type -> !type.union());
  }

  public Optional<Enumeration> enumeration(String name) {
    return find(Enumeration.class, name);
  }

  public Optional<DataSection> dataSection(String name) {
    return find(DataSection.class, name);
  }

  /** The type behind typedefs, qualifiers and tags. */
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

  /** The name by which a declaration calls its type: of the outermost typedef, or its own. */
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
   * Bytes that a value of the type takes.
   *
   * @throws BtfException for a type without a size
   */
  public int sizeOf(int id) {
    return switch (resolve(id)) {
      case Int number -> number.size();
      case Composite composite -> composite.size();
      case Enumeration enumeration -> enumeration.size();
      case FloatingPoint number -> number.size();
      case Ptr _ -> Long.BYTES;
      case Array array -> Math.multiplyExact(array.count(), sizeOf(array.elementType()));
      case DataSection section -> section.size();
      case BtfType other -> throw new BtfException("BTF: " + other + " has no size");
    };
  }
}
