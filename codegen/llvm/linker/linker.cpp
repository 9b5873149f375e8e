// LLVM's linker and its objcopy as functions of C. `src/lld.rs` calls them, one at a time.
#include "lld/Common/Driver.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <cstddef>

LLD_HAS_DRIVER(elf)

// Variables of LLD 19.1 that still point to freed symbols and sections of the previous output.
namespace lld::elf {
class Defined;
class OutputSection;
struct PhdrEntry;
struct ElfSym {
    static Defined *bss, *etext1, *etext2, *edata1, *edata2, *end1, *end2, *globalOffsetTable,
        *relaIpltStart, *relaIpltEnd,
        *tlsModuleBase;
};
struct Out {
    static uint8_t *bufferStart;
    static PhdrEntry *tlsPhdr;
    static OutputSection *elfHeader, *programHeaders, *preinitArray, *initArray, *finiArray;
};
static void forget() {
    for (Defined **symbol : {&ElfSym::bss, &ElfSym::etext1, &ElfSym::etext2, &ElfSym::edata1,
                             &ElfSym::edata2, &ElfSym::end1,
                             &ElfSym::end2, &ElfSym::globalOffsetTable, &ElfSym::relaIpltStart,
                                 &ElfSym::relaIpltEnd,
                             &ElfSym::tlsModuleBase})
        *symbol = nullptr;
    for (OutputSection **section : {&Out::elfHeader, &Out::programHeaders, &Out::preinitArray,
                                    &Out::initArray, &Out::finiArray})
        *section = nullptr;
    Out::bufferStart = nullptr;
    Out::tlsPhdr = nullptr;
}
} // namespace lld::elf

#ifdef SCHEDC_WITHOUT_POLLY
#include "llvm/Passes/PassPlugin.h"
// LLVM's archives refer to a loop optimiser that schedc never runs. With this definition, programs are linked
// without it.
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "none", "", [](llvm::PassBuilder &) {}};
}
#endif

// Receiver of bytes, in Rust.
typedef void (*schedc_take)(void *to, const char *bytes, size_t count);

// Links as `ld.lld` does with these arguments, of which the first is the program's name. `take` gets its
// messages. Returns 0 on success, 1 if it fails, and 2 if it must not be called again.
extern "C" int schedc_link(const char *const *arguments, size_t count, schedc_take take, void *to) {
    std::string said;
    llvm::raw_string_ostream stream(said);
    lld::elf::forget();
    const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
    // If LLD fails fatally, it returns to this point instead of ending the process.
    llvm::CrashRecoveryContext::Enable();
    lld::Result result = lld::lldMain({arguments, count}, stream, stream, drivers);
    llvm::CrashRecoveryContext::Disable();
    // While LLD has a temporary file, LLVM handles signals: it removes the file and raises the signal again.
    llvm::sys::unregisterHandlers();
    stream.flush();
    take(to, said.data(), said.size());
    if (!result.canRunAgain)
        return 2;
    return result.retCode == 0 ? 0 : 1;
}

// Passes `take` an object file in which only the given symbols are visible, or a message if that fails.
// Returns 0 on success.
extern "C" int schedc_keep_global(const char *bytes, size_t size, const char *const *names, size_t count,
                                  schedc_take take,
                                  void *to) {
    auto fail = [&](llvm::Error error) {
        std::string message = llvm::toString(std::move(error));
        take(to, message.data(), message.size());
        return 1;
    };
    llvm::objcopy::ConfigManager config;
    for (size_t i = 0; i < count; i++) {
        auto name = llvm::objcopy::NameOrPattern::create(names[i], llvm::objcopy::MatchStyle::Literal,
                                                         [](llvm::Error error) { return error; });
        if (!name)
            return fail(name.takeError());
        if (llvm::Error error = config.Common.SymbolsToKeepGlobal.addMatcher(std::move(name)))
            return fail(std::move(error));
    }
    auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef({bytes, size},
        "joined.o"));
    if (!object)
        return fail(object.takeError());
    llvm::SmallVector<char, 0> out;
    llvm::raw_svector_ostream stream(out);
    if (llvm::Error error = llvm::objcopy::executeObjcopyOnBinary(config, **object, stream))
        return fail(std::move(error));
    take(to, out.data(), out.size());
    return 0;
}
