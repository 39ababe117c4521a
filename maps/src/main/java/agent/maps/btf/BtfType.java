package agent.maps.btf;

import java.util.List;

/** One type of BTF (Documentation/bpf/btf.rst of the kernel); types refer to each other by id. */
public sealed interface BtfType {
  /** Returns the name in C, or an empty string. */
  String name();

  /** The type of id 0. */
  record Void() implements BtfType {
    @Override
    public String name() {
      return "void";
    }
  }

  record Int(String name, int size, int bits, boolean signed) implements BtfType {}

  record Ptr(int type) implements Anonymous {}

  record Array(int elementType, int indexType, int count) implements Anonymous {}

  /** A struct or a union. */
  record Composite(String name, boolean union, int size, List<Member> members) implements BtfType {
    public Composite {
      members = List.copyOf(members);
    }
  }

  /**
   * A member of a struct or union.
   *
   * @param bitWidth of a bit field; 0 for other members
   */
  record Member(String name, int type, int bitOffset, int bitWidth) {}

  /** An enum of 32 or 64 bits. */
  record Enumeration(String name, int size, boolean signed, List<Constant> constants)
      implements BtfType {
    public Enumeration {
      constants = List.copyOf(constants);
    }
  }

  record Constant(String name, long value) {}

  record Forward(String name, boolean union) implements BtfType {}

  record Typedef(String name, int type) implements BtfType {}

  /** {@code const}, {@code volatile} or {@code restrict}. */
  record Qualifier(int type) implements Anonymous {}

  record Function(String name, int prototype, int linkage) implements BtfType {}

  record FunctionPrototype(int returnType, List<Parameter> parameters) implements Anonymous {
    public FunctionPrototype {
      parameters = List.copyOf(parameters);
    }
  }

  record Parameter(String name, int type) {}

  record Variable(String name, int type, int linkage) implements BtfType {}

  record DataSection(String name, int size, List<Slot> slots) implements BtfType {
    public DataSection {
      slots = List.copyOf(slots);
    }
  }

  /** The position of a variable in its section; the compiler leaves the offset to the linker. */
  record Slot(int variable, int offset, int size) {}

  record FloatingPoint(String name, int size) implements BtfType {}

  record DeclarationTag(String name, int type, int component) implements BtfType {}

  record TypeTag(String name, int type) implements BtfType {}

  /** A type that has no name. */
  sealed interface Anonymous extends BtfType {
    @Override
    default String name() {
      return "";
    }
  }
}
