"""Isobar No. 41, September 2026: "Harvest"."""
from generator.magazine import Charts, Feature, MagazineIssue, Notes, Plate, Table

ISSUE = MagazineIssue(
    slug="isobar-2026-09", month="September 2026", number="41", theme="The harvest issue", price="4.99", accent="#b5651d",
    cover=("field", "harvest", "cover"),
    cover_lines=("The last warm wind", "Why dew is the oldest forecast", "An orchard that keeps its own calendar",
                 "Make a rain gauge that lasts ten years"),
    editorial=("The month that weighs things", (
        "September is when the year is put on the scales. Grain is weighed, apples are weighed, and so is the summer: so many dry "
        "days, so many wet ones, a total nobody argues with because it is written on sacks.",
        "This issue is about measuring by hand. A gauge on a post, a page in a notebook, a thumb held up to the wind. None of it is "
        "as exact as a satellite, and all of it is closer to the ground.",
        "Go outside with it. It will not mind the rain.")),
    sections=(
        Feature("Wind", "The last warm wind", "For one week each September the air over the lowlands changes its mind. "
                "Farmers have a dozen names for it, and plan by every one.", (
            "It comes from the south, usually in the second week, and it comes at night. People who live on the plain say that you hear "
            "it before you feel it: the poplars start to talk, all of them at once, and the dogs get up to see who is there. By morning "
            "the air is as soft as in June, and everybody who has a field is in it.",
            "The cause is simple enough. As the land cools faster than the sea, the great summer high slides away to the east and leaves a gap "
            "behind it. Air that has spent August over warm water is drawn into that gap. It crosses the hills, loses its rain on the "
            "far side, and comes down dry. What reaches the plain has been wrung out like a cloth.",
            "For the harvest it is worth more than a month of ordinary weather. Straw that has lain damp for ten days is crisp by noon. "
            "Grain goes into the store at fourteen parts of water in the hundred, below which it will keep until spring. A "
            "wet September leaves it at eighteen, and then somebody must pay for fuel to dry it.",
            "Nobody can say to the day when it will arrive. The village of Long Barrow keeps a list, painted on the inside of a barn "
            "door, that goes back sixty-eight years. The earliest date on it is the second of September and the latest is the "
            "thirtieth. In four years there is only a dash. Those were the years, people will tell you, when they learned to like turnips.",
            "The list has a use beyond memory. Read down the door and the dates drift: a day later for every eight years or so. The people "
            "who painted them did not set out to measure a climate. They wanted to know when to borrow the second cart. But a number "
            "written down every year in the same place, by people who had no reason to flatter it, becomes an instrument.",
            "When the wind drops, it drops in an hour. The poplars go quiet from west to east, as if someone were walking along the row and "
            "asking each to hush. Then the first cold comes up out of the ditches, and summer has been carried in."),
            (("field", "harvest", "Second week of September, the plain at Long Barrow"), ("hills", "harvest", "The wind loses its rain on the far side of these hills."),
             dict(kind="rose", title="Where the wind came from", unit="Days in September, ten-year mean, by direction", caption="Ten Septembers at Long Barrow.",
                  values=(("N", 2), ("NE", 2), ("E", 3), ("SE", 4), ("S", 8), ("SW", 6), ("W", 3), ("NW", 2)))),
            "A number written down every year in the same place becomes an instrument."),
        Plate(("hills", "evening", "a"), "Six ridges, ten past seven", "Each ridge is paler than the one before it, because there is more air in the way. "
              "Painters call it perspective; here it is only distance, made visible."),
        Feature("Water", "The oldest forecast", "Before there were barometers there was wet grass. Dew still knows a surprising amount "
                "about the day ahead.", (
            "Walk across a lawn at six in the morning and look at your shoes. If they are wet, the night was clear and still, and the day "
            "will probably be fine until the afternoon. If they are dry, find a coat.",
            "Dew forms when the ground loses its warmth to an open sky. Clouds act as a blanket and stop it; wind stirs the cold "
            "layer away before a drop can gather. So a heavy dew is a report on two things, cloud and wind, for the "
            "whole of the night. Those are the very things that decide the next day.",
            "The rule fails near lakes, in deep valleys, and after rain. It also fails on roofs, which cool quicker than grass. But on "
            "open pasture, in settled weather, it is right about three mornings in four.",
            "That is not far behind the early printed forecasts, and it is delivered to the door."),
            (("clouds", "meadow", "Half past nine, and the dew has gone up to be clouds"),
             dict(kind="bars", title="Right, out of a hundred mornings", unit="How often each sign was followed by a dry day", caption="One notebook, four summers, one lawn.",
                  values=(("Dew", 76), ("Red sky", 67), ("Swallows", 58), ("Cows", 51), ("Knees", 49)))),
            "It is right about three mornings in four."),
        Charts("August, counted", "The month behind us in two drawings: what fell, and how warm it was while falling.", (
            dict(kind="bars", title="Rain by week", unit="Millimetres, mean of twelve readers' gauges", values=(("1-7", 12), ("8-14", 4), ("15-21", 31), ("22-28", 18), ("29-31", 9))),
            dict(kind="curve", title="Noon temperature", unit="Degrees Celsius, every fourth day", values=(("1", 24), ("5", 26), ("9", 29), ("13", 27), ("17", 21), ("21", 20), ("25", 23), ("29", 22))))),
        Charts("The map", "How the warm wind of the twelfth came about: a low to the south-west, a high withdrawing, and a slope of air between.", (
            dict(kind="pressure", title="12 September, noon", unit="Lines join places of equal pressure, in hectopascals"),)),
        Feature("Orchard", "A calendar of apples", "One slope, forty-one varieties, and something ripe every day from July until the frost.", (
            "The orchard at Hallow Bank was planted by a schoolteacher who disliked waste. Most orchards ripen all at once, and then there are "
            "three weeks of ladders and a winter of jelly. This one was meant to feed a household one basket at a time.",
            "So the trees stand in order of ripening, from the bottom of the slope to the top, and the picker climbs with the season. "
            "By the first of September the ladder has reached row nineteen: small, yellow, sharp, good with cheese. "
            "Row twenty is sweeter and bruises if you look at it. Row twenty-one must not be touched until the rooks have left the elms.",
            "The slope does half of the work. Cold air is heavy and drains downhill at night, so the lowest rows flower last and are "
            "spared the frosts of April. The top rows keep the sun an hour longer and hold their fruit into November.",
            "A calendar on paper tells you what day it is. This one tells you what the day is for."),
            (("apples", "harvest", "Rows nineteen to twenty-one, one morning's picking"), ("hills", "meadow", "The slope in early light, from the bottom row.")),
            "The picker climbs with the season."),
        Feature("Rivers", "Where the river used to be", "Seen from above, a river signs its name across a valley again and again.", (
            "From the ground the Sallow is a quiet river with a footpath. From a balloon it is a scribble. Loops lie beside loops: some wet, "
            "some green, some only a curve in the colour of the barley.",
            "A river on flat land cannot leave a bend alone. Water on the outside of the curve runs faster and eats the bank; on the inside it "
            "slows and drops its sand. So each loop swells until two of them touch. Then, in a single flood, the water takes "
            "the short way, and the loop is left behind as a lake the shape of a horseshoe.",
            "The lakes fill with reeds, then with silt, then with sheep. But the soil remembers. In a dry September, crops over an old channel stay green a week "
            "longer than their neighbours, and for that week the whole history of the river is legible.",
            "It has moved four hundred paces in three centuries. The footpath is still on the old bank."),
            (("river", "meadow", "The Sallow from six hundred metres"), ("sea", "harvest", "Where the Sallow ends: the estuary on a still evening.")),
            "For that week the whole history of the river is legible."),
        Plate(("forest", "harvest", "b"), "Beeches before the turn", "The leaves stop making green two weeks before anyone can see it. Stand under them at noon "
              "and the light has already gone the colour of tea."),
        Plate(("sea", "evening", "c"), "Slack water", "For eleven minutes the tide goes neither in nor out. The gulls sit down. Then one of them remembers something."),
        Plate(("clouds", "harvest", "d"), "Fair-weather heaps", "Flat underneath, because that is the height at which the air gives up its water, and it is the same for all of them."),
        Notes("Make a rain gauge", "An hour's work, a straight-sided jar and a post. It will be accurate to half a millimetre and will outlive the post.", (
            ("What you need", "A straight-sided glass jar, a funnel exactly as wide as the jar, a steel rule, a strip of varnished wood and a post as high as your hip."),
            ("Mark the scale", "Fill the jar with water to ten millimetres by the rule and mark the wood. Go on to sixty. Varnish over the marks."),
            ("Choose the place", "Twice as far from any wall or tree as that thing is high. Gauges near houses measure gutters."),
            ("Read it", "At the same hour every morning. Write it down at once, dry days too. A nought is a measurement; a gap is a rumour."),
            ), ("rain", "slate", "gauge")),
        Notes("Letters", "Paper, post or pigeon. We print what made us go and look out of the window.", (
            ("The dog was right", "Our old dog refuses her walk two hours before thunder. I have kept a tally since March: nine storms, nine refusals, and one false alarm that turned out to be a marching band."),
            ("Fog has a smell", "Your July piece says fog has no smell. Ours smells of coins. Downriver of the mint, admittedly."),
            ("In praise of drizzle", "Nobody writes odes to drizzle. It waters the seedlings without knocking them flat and it empties the footpaths. I would like more."),
            ("A correction", "The bridge on page 14 in August is not the oldest on the Sallow. It is the second oldest. The oldest is underneath it."),
            ), ("hills", "harvest", "letters")),
        Table("The almanac", "Times for the lowland coast in September, in local time. Your own horizon will differ by a tree or two.",
              ("Day", "Sunrise", "Sunset", "High water", "Look for"), (
            ("1 Tue", "06:14", "19:51", "09:42", "first cobwebs"), ("3 Thu", "06:18", "19:46", "10:58", "swallows gather"), ("5 Sat", "06:21", "19:42", "12:40", "late dragonflies"),
            ("7 Mon", "06:24", "19:37", "14:35", "sloes darken"), ("9 Wed", "06:27", "19:33", "16:10", "heavy dew"), ("11 Fri", "06:31", "19:28", "17:22", "new moon"),
            ("13 Sun", "06:34", "19:24", "18:21", "warm wind due"), ("15 Tue", "06:37", "19:19", "19:14", "hops cut"), ("17 Thu", "06:40", "19:14", "20:04", "acorns drop"),
            ("19 Sat", "06:44", "19:10", "20:54", "owls at dusk"), ("21 Mon", "06:47", "19:05", "21:46", "mist in hollows"), ("23 Wed", "06:50", "19:01", "22:43", "equal day, night"),
            ("25 Fri", "06:53", "18:56", "23:52", "full moon soon"), ("27 Sun", "06:57", "18:51", "00:31", "geese, perhaps"), ("29 Tue", "07:00", "18:47", "01:40", "first fires")))),
    next_issue=("The fog issue", ("forest", "fog", "next"), "How a cloud comes to lie down, a railway that runs by ear, and the lamp-keepers of a coast you cannot see."),
)
