/* Names of categories. */
#include "api.h"

#include <math.h>
#include <string.h>

double schedc_rt_encode(const schedc_categories *all, int32_t feature, const char *text)
{
    if (!text || feature < 0 || feature >= all->num_features)
        return (double)NAN;
    uint32_t low = all->starts[feature], high = all->starts[feature + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(text, all->names[middle]);
        if (order == 0)
            return all->codes[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return (double)NAN;
}
